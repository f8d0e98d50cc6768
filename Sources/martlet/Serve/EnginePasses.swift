internal import KillSwitch
internal import Proxy
internal import Synchronization
internal import TokenModel
internal import TokenRefresh

/// Answers the data path's questions out of the refresh engine.
///
/// The two need each other: the data path asks, the engine announces. So this is made first, and given the engine later.
final class EnginePasses: PassSource {
    private struct Parts {
        let engine: RefreshEngine
        let kills: KillSwitch
    }

    private let parts = Mutex<Parts?>(nil)

    private var engine: RefreshEngine? { self.parts.withLock { $0?.engine } }

    func connect(to engine: RefreshEngine, _ kills: KillSwitch) {
        self.parts.withLock { $0 = Parts(engine: engine, kills: kills) }
    }

    func pass(for account: AccountID, refused: TokenMark?) async throws(PassError) -> Pass {
        guard let parts = self.parts.withLock({ $0 }) else {
            throw PassError(.refreshFailed, "the gateway is still starting")
        }
        // A pass is of no use while nothing may be put into requests.
        try await parts.kills.renewIfLapsed()
        guard let refused else { return try await parts.engine.pass(for: account) }
        return try await parts.engine.pass(for: account, after: refused)
    }

    func used(_ token: TokenMark, of account: AccountID) {
        self.engine?.used(token, of: account)
    }

    func accepted(_ token: TokenMark, of account: AccountID) {
        self.engine?.accepted(token, for: account)
    }

    func refusedAgain(_ token: TokenMark, of account: AccountID) {
        self.engine?.refusedAgain(token, for: account)
    }
}
