internal import Approvals
internal import KillSwitch
internal import Proxy
internal import Synchronization
internal import TokenModel
internal import TokenRefresh

/// Applies kills to this process: to the event loops first, then to the refresh engine, so that requests waiting there
/// fail.
///
/// The engine needs the kill switch, and the kill switch needs this fence. To break this cycle, the fence is created
/// first and connected to the engine and the proxy later.
final class ProcessFence: KillFence {
    private struct Parts {
        let engine: RefreshEngine
        let proxy: ProxyServer
        let approvals: ApprovalService
    }

    private let parts = Mutex<Parts?>(nil)

    func connect(to engine: RefreshEngine, _ proxy: ProxyServer, _ approvals: ApprovalService) {
        self.parts.withLock { $0 = Parts(engine: engine, proxy: proxy, approvals: approvals) }
    }

    /// Lets go of the engine, which holds this fence: nothing of it may stay in a gateway that is locked.
    func disconnect() { self.parts.withLock { $0 = nil } }

    func fence(_ epochs: KillEpochs) async -> Int {
        guard let parts = self.parts.withLock({ $0 }) else { return 0 }
        // The event loops check each credential themselves, so they get the epochs before the engine. Otherwise they
        // would reject a credential that the engine announces as soon as a kill is lifted, and the engine doesn't
        // announce it again.
        let draining = await parts.proxy.fence(epochs).draining
        parts.approvals.apply(epochs)
        parts.engine.apply(epochs)
        return draining
    }

    func locked(_ entry: KillEntry) async { _ = await self.parts.withLock({ $0 })?.proxy.lock() }

    func replaced(_ account: AccountID) async {
        await self.parts.withLock({ $0 })?.engine.reread(account)
    }

    func setLeaseDeadline(_ instant: BootInstant) {
        self.parts.withLock({ $0 })?.proxy.setLeaseDeadline(instant)
    }
}

/// The currently configured providers, for revoking their tokens.
final class CurrentProviders: Sendable {
    private let roster: Mutex<ProviderRegistry>

    init(_ roster: ProviderRegistry) {
        self.roster = Mutex(roster)
    }

    func reload(_ roster: ProviderRegistry) {
        self.roster.withLock { $0 = roster }
    }

    var current: ProviderRegistry { self.roster.withLock { $0 } }
}
