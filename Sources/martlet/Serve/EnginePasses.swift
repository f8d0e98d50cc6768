internal import Proxy
internal import Synchronization
internal import TokenModel
internal import TokenRefresh

/// Answers the data path's questions out of the refresh engine.
///
/// The two need each other: the data path asks, the engine announces. So this is made first, and given the engine later.
final class EnginePasses: PassSource {
    private let engine = Mutex<RefreshEngine?>(nil)

    func connect(to engine: RefreshEngine) {
        self.engine.withLock { $0 = engine }
    }

    func pass(for account: AccountID, refused: TokenMark?) async throws(PassError) -> Pass {
        guard let engine = self.engine.withLock({ $0 }) else {
            throw PassError(.refreshFailed, "the gateway is still starting")
        }
        guard let refused else { return try await engine.pass(for: account) }
        return try await engine.pass(for: account, after: refused)
    }

    func used(_ token: TokenMark, of account: AccountID) {
        self.engine.withLock({ $0 })?.used(token, of: account)
    }

    func accepted(_ token: TokenMark, of account: AccountID) {
        self.engine.withLock({ $0 })?.accepted(token, for: account)
    }
}
