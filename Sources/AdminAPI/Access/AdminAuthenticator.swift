internal import Logging
internal import Synchronization
internal import TokenModel

/// Lets in who presents an admin token, and slows down who tries them out.
///
/// A refusal comes after a delay. Only so many wait for theirs at once; past that, refusals take longer still and say that
/// there are too many; and where as many wait as have room, one more is told at once. A right token never waits.
final class AdminAuthenticator: Sendable {
    private struct State {
        var tokens: AdminTokens
        var waiting = 0
        /// Those who wait longer for being too many.
        var crowd = 0
        /// When it was said last that many try.
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

    /// - Returns: whether they are others.
    func replaceTokens(_ tokens: AdminTokens) -> Bool {
        self.state.withLock { state in
            let isSame = state.tokens == tokens
            state.tokens = tokens
            return !isSame
        }
    }

    /// - Parameter authorization: the request's `Authorization` field (RFC 6750 §2.1); several of them joined are none.
    /// - Returns: whose token that is.
    /// - Throws: ``AdminError/Code/unauthorized`` or ``AdminError/Code/tooManyAttempts``.
    func admit(_ authorization: String?) async throws(AdminError) -> Administrator {
        try await self.admit(presenting: authorization.flatMap(Self.bearerToken))
    }

    /// - Returns: whose token that is.
    /// - Throws: ``AdminError/Code/unauthorized`` or ``AdminError/Code/tooManyAttempts``.
    func admit(presenting presented: Secret?) async throws(AdminError) -> Administrator {
        guard let presented, let administrator = self.administrator(presenting: presented) else {
            try await self.refuse()
        }
        return administrator
    }

    /// Whose token that is; `nil` for one that lets nobody in.
    func administrator(presenting token: Secret) -> Administrator? {
        let tokens = self.state.withLock { $0.tokens }
        return tokens.administrator(presenting: token)
    }

    /// What an `Authorization` field shows, before anybody waits for it or is answered: while connections are many, one with a
    /// right token must not be closed only because its request has not had its turn.
    func glance(at authorization: String?) -> ConnectionRegistry<ObjectIdentifier>.Showing {
        guard let authorization else { return .nothing }
        guard let token = Self.bearerToken(authorization), self.isOpened(by: token) else { return .wrongToken }
        return .rightToken
    }

    /// Whether `token` is one of those that let operators in.
    func isOpened(by token: Secret) -> Bool { self.administrator(presenting: token) != nil }

    /// Where somebody waits who is turned away.
    private enum Place {
        case line(isFull: Bool)
        case crowd
        case none
    }

    /// Turns somebody away, who waits for that as everybody does.
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
        // A request that is cancelled meanwhile is answered sooner; nobody outside can bring that about.
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

    /// Whoever tries without end must not fill the log.
    private static let silence = Duration.seconds(60)

    private static func bearerToken(_ field: String) -> Secret? {
        let parts = field.split(separator: " ")
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
        return Secret(String(parts[1]))
    }
}
