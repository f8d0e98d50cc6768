internal import Logging
internal import Synchronization
internal import TokenModel

/// Lets in who presents an admin token, and slows down who tries them out.
///
/// A refusal comes after a delay, and only so many wait for theirs at once; past that, refusals come at once and say
/// so. A right token never waits.
final class AdminDoor: Sendable {
    private struct State {
        var tokens: AdminTokens
        var waiting = 0
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
        let tokens = self.state.withLock { $0.tokens }
        guard let presented, tokens.contain(presented) else { try await self.refuse() }
    }

    /// Turns somebody away, who waits for that as everybody does.
    func refuse() async throws(AdminError) -> Never {
        let waiting: Int? = self.state.withLock { state in
            guard state.waiting < self.limits.refusalsWaiting else { return nil }
            state.waiting += 1
            return state.waiting
        }
        guard let waiting else { throw .tooManyAttempts }
        if waiting == self.limits.refusalsWaiting {
            self.logger.warning("many requests with a wrong admin token: is somebody trying them out?")
        }
        // A request that is cancelled meanwhile is answered sooner; nobody outside can bring that about.
        try? await self.clock.sleep(for: self.limits.refusalDelay)
        self.state.withLock { $0.waiting -= 1 }
        throw .unauthorized
    }

    private static func bearerToken(_ field: String) -> Secret? {
        let parts = field.split(separator: " ")
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
        return Secret(String(parts[1]))
    }
}
