internal import Approvals
internal import KillSwitch
internal import Proxy
internal import Synchronization
internal import TokenModel
internal import TokenRefresh

/// Gives the data path credentials from the refresh engine, while there is one.
///
/// The data path requests credentials from the engine, and the engine announces new ones to the data path. To break
/// this cycle, this object is created first and connected to the engine later. A locked gateway has no engine.
final class EngineCredentials: CredentialSource {
    private struct Parts {
        let engine: RefreshEngine
        let kills: KillSwitch
        let approvals: ApprovalService
    }

    private let parts = Mutex<Parts?>(nil)

    private var engine: RefreshEngine? { self.parts.withLock { $0?.engine } }

    func connect(to engine: RefreshEngine, _ kills: KillSwitch, _ approvals: ApprovalService) {
        self.parts.withLock { $0 = Parts(engine: engine, kills: kills, approvals: approvals) }
    }

    /// There are no credentials from now on.
    func disconnect() { self.parts.withLock { $0 = nil } }

    func credential(for account: AccountID, refused: TokenVersion?) async throws(CredentialError) -> UpstreamCredential
    {
        guard let parts = self.parts.withLock({ $0 }) else {
            throw .locked
        }
        // Before the lease is looked at: it may take minutes.
        try await parts.approvals.wait(for: account)
        // Without a valid lease no credential may be put into a request.
        try await parts.kills.renewIfLapsed()
        guard let refused else { return try await parts.engine.credential(for: account) }
        return try await parts.engine.credential(for: account, after: refused)
    }

    func knows(_ account: AccountID) -> Bool { self.engine?.exists(account) ?? false }

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
