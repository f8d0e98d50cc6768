internal import KillSwitch
internal import Proxy
internal import Synchronization
internal import TokenModel
internal import TokenRefresh

/// What a kill stops in this process: the event loops, then the refresh engine, that whoever waits there is told.
///
/// The engine needs the kill switch, and the kill switch this: so this is made first, and given the others later.
final class ProcessFence: KillFence {
    private struct Parts {
        let engine: RefreshEngine
        let proxy: ProxyServer
    }

    private let parts = Mutex<Parts?>(nil)

    func connect(to engine: RefreshEngine, _ proxy: ProxyServer) {
        self.parts.withLock { $0 = Parts(engine: engine, proxy: proxy) }
    }

    func fence(_ epochs: KillEpochs) async -> Int {
        guard let parts = self.parts.withLock({ $0 }) else { return 0 }
        // The loops judge each credential themselves. Were they later, they would turn away what the engine announces as soon as
        // a kill is lifted, and it is not announced twice.
        let draining = await parts.proxy.fence(epochs).draining
        parts.engine.apply(epochs)
        return draining
    }

    func replaced(_ account: AccountID) async {
        await self.parts.withLock({ $0 })?.engine.reread(account)
    }

    func setLeaseDeadline(_ instant: BootInstant) {
        self.parts.withLock({ $0 })?.proxy.setLeaseDeadline(instant)
    }
}

/// The providers as they are configured now, for whoever has tokens of theirs to revoke.
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
