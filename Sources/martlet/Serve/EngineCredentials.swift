internal import KillSwitch
internal import Proxy
internal import Synchronization
internal import TokenModel
internal import TokenRefresh

/// Answers the data path's questions out of the refresh engine.
///
/// The two need each other: the data path asks, the engine announces. So this is made first, and given the engine later.
final class EngineCredentials: CredentialSource {
    private struct Parts {
        let engine: RefreshEngine
        let kills: KillSwitch
    }

    private let parts = Mutex<Parts?>(nil)

    private var engine: RefreshEngine? { self.parts.withLock { $0?.engine } }

    func connect(to engine: RefreshEngine, _ kills: KillSwitch) {
        self.parts.withLock { $0 = Parts(engine: engine, kills: kills) }
    }

    func credential(for account: AccountID, refused: TokenVersion?) async throws(CredentialError) -> UpstreamCredential
    {
        guard let parts = self.parts.withLock({ $0 }) else {
            throw CredentialError(.refreshFailed, "the gateway is still starting")
        }
        // A credential is of no use while nothing may be put into requests.
        try await parts.kills.renewIfLapsed()
        guard let refused else { return try await parts.engine.credential(for: account) }
        return try await parts.engine.credential(for: account, after: refused)
    }

    func used(_ token: TokenVersion, of account: AccountID) {
        self.engine?.used(token, of: account)
    }

    func accepted(_ token: TokenVersion, of account: AccountID) {
        self.engine?.accepted(token, for: account)
    }

    func refusedAgain(_ token: TokenVersion, of account: AccountID) {
        self.engine?.refusedAgain(token, for: account)
    }
}
