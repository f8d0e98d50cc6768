internal import Logging
internal import Synchronization
internal import TokenModel

/// Lets in who presents an admin token, and slows down who tries them out.
///
/// A refusal comes after a delay. Only so many wait for theirs at once; past that, refusals take longer still and say that
/// there are too many. A right token never waits.
final class AdminDoor: Sendable {
    private struct State {
        var tokens: AdminTokens
        var waiting = 0
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
    /// - Throws: ``AdminError/Code/unauthorized`` or ``AdminError/Code/tooManyAttempts``.
    func admit(_ authorization: String?) async throws(AdminError) {
        try await self.admit(presenting: authorization.flatMap(Self.bearerToken))
    }

    /// - Throws: ``AdminError/Code/unauthorized`` or ``AdminError/Code/tooManyAttempts``.
    func admit(presenting presented: Secret?) async throws(AdminError) {
        guard let presented, self.isOpened(by: presented) else { try await self.refuse() }
    }

    /// Whether `token` is one of those that let operators in.
    func isOpened(by token: Secret) -> Bool {
        let tokens = self.state.withLock { $0.tokens }
        return tokens.contain(token)
    }

    /// Turns somebody away, who waits for that as everybody does.
    func refuse() async throws(AdminError) -> Never {
        let (hasPlace, isNews) = self.state.withLock { state in
            guard state.waiting < self.limits.refusalsWaiting else { return (false, false) }
            state.waiting += 1
            guard state.waiting == self.limits.refusalsWaiting else { return (true, false) }
            let now = BootInstant.now
            guard state.saidAt.duration(to: now) >= Self.silence else { return (true, false) }
            state.saidAt = now
            return (true, true)
        }
        guard hasPlace else {
            try? await self.clock.sleep(for: self.limits.crowdDelay)
            throw .tooManyAttempts
        }
        if isNews { self.logger.warning("many requests with a wrong admin token: is somebody trying them out?") }
        // A request that is cancelled meanwhile is answered sooner; nobody outside can bring that about.
        try? await self.clock.sleep(for: self.limits.refusalDelay)
        self.state.withLock { $0.waiting -= 1 }
        throw .unauthorized
    }

    /// Whoever tries without end must not fill the log.
    private static let silence = Duration.seconds(60)

    private static func bearerToken(_ field: String) -> Secret? {
        let parts = field.split(separator: " ")
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
        return Secret(String(parts[1]))
    }
}
