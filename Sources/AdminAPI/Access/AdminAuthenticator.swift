internal import Logging
internal import Synchronization
internal import TokenModel

/// Authenticates administrators by their tokens, and slows down attempts to guess a token.
///
/// A refusal is delayed. Only ``AdminLimits/refusalsWaiting`` refusals wait at once. Further refusals are delayed for
/// longer, and say that there are too many attempts. If ``AdminLimits/refusalsHeld`` requests wait in all, a further
/// refusal is sent at once. A right token never waits.
final class AdminAuthenticator: Sendable {
    private struct State {
        var tokens: AdminTokens
        var waiting = 0
        /// The refusals that wait longer because there are too many.
        var crowd = 0
        /// When many wrong tokens were last logged.
        var saidAt = BootInstant.distantPast
    }

    private let state: Mutex<State>
    private let limits: AdminLimits
    private let clock: any Clock<Duration>
    private let logger: Logger

    init(_ tokens: AdminTokens, limits: AdminLimits, clock: any Clock<Duration>, logger: Logger) {
        self.state = Mutex(State(tokens: tokens))
        self.limits = limits
        self.clock = clock
        self.logger = logger
    }

    /// - Returns: whether the tokens differ from the previous ones.
    func replaceTokens(_ tokens: AdminTokens) -> Bool {
        self.state.withLock { state in
            let isSame = state.tokens == tokens
            state.tokens = tokens
            return !isSame
        }
    }

    /// - Parameter authorization: the request's `Authorization` field (RFC 6750 §2.1); several fields joined are no
    ///   token.
    /// - Returns: the administrator whose token it is.
    /// - Throws: ``AdminError/Code/unauthorized`` or ``AdminError/Code/tooManyAttempts``.
    func admit(_ authorization: String?) async throws(AdminError) -> Administrator {
        try await self.admit(presenting: authorization.flatMap(Self.bearerToken))
    }

    /// - Returns: the administrator whose token it is.
    /// - Throws: ``AdminError/Code/unauthorized`` or ``AdminError/Code/tooManyAttempts``.
    func admit(presenting presented: Secret?) async throws(AdminError) -> Administrator {
        guard let presented, let administrator = self.administrator(presenting: presented) else {
            try await self.refuse()
        }
        return administrator
    }

    /// The administrator whose token it is; `nil` for an unknown token.
    func administrator(presenting token: Secret) -> Administrator? {
        let tokens = self.state.withLock { $0.tokens }
        return tokens.administrator(presenting: token)
    }

    /// Whether an `Authorization` field shows a right token, before the request is handled. While there are many
    /// connections, one with a right token must not be closed only because its request has not been handled yet.
    func glance(at authorization: String?) -> Bool {
        authorization.flatMap(Self.bearerToken).map(self.isOpened) ?? false
    }

    /// Whether `token` is an admin token.
    func isOpened(by token: Secret) -> Bool { self.administrator(presenting: token) != nil }

    /// Where a refused request waits.
    private enum Place {
        case line(isFull: Bool)
        case crowd
        case none
    }

    /// Refuses a request after the usual delay.
    func refuse() async throws(AdminError) -> Never {
        let (place, isNews) = self.state.withLock { state in
            let place = Self.enter(&state, self.limits)
            guard case .line(isFull: true) = place else { return (place, false) }
            let now = BootInstant.now
            guard state.saidAt.duration(to: now) >= Self.silence else { return (place, false) }
            state.saidAt = now
            return (place, true)
        }
        if isNews { self.logger.warning("many requests with a wrong admin token: is somebody trying them out?") }
        // A cancelled request gets its response earlier, but no client can cause a cancellation.
        switch place {
        case .line:
            try? await self.clock.sleep(for: self.limits.refusalDelay)
            self.state.withLock { $0.waiting -= 1 }
            throw .unauthorized
        case .crowd:
            try? await self.clock.sleep(for: self.limits.crowdDelay)
            self.state.withLock { $0.crowd -= 1 }
            throw .tooManyAttempts
        case .none:
            throw .tooManyAttempts
        }
    }

    private static func enter(_ state: inout State, _ limits: AdminLimits) -> Place {
        guard state.waiting + state.crowd < limits.refusalsHeld else { return .none }
        guard state.waiting < limits.refusalsWaiting else {
            state.crowd += 1
            return .crowd
        }
        state.waiting += 1
        return .line(isFull: state.waiting == limits.refusalsWaiting)
    }

    /// The minimum time between log entries about wrong tokens: endless attempts must not fill the log.
    private static let silence = Duration.seconds(60)

    private static func bearerToken(_ field: String) -> Secret? {
        let parts = field.split(separator: " ")
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
        return Secret(String(parts[1]))
    }
}
