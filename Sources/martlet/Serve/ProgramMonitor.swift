internal import AdminAPI
internal import Alerts
internal import KillSwitch
internal import Proxy
internal import Telemetry
internal import TokenModel
internal import TokenRefresh

/// Tells the admin API what this process is and whether it can serve callers.
struct ProgramMonitor: GatewayMonitor {
    let incarnation: IncarnationID
    let startedAt: WallTime
    /// Of this replica.
    let name: String
    let driver: String
    let store: StoreProbe
    /// Where callers connect; all were bound before the admin API was opened, and are closed together.
    let listeners: [String]
    let proxy: ProxyServer
    let engine: RefreshEngine
    let webhook: Webhook
    let kills: KillSwitch
    let counts: ProgramMetrics
    let status: ReloadStatus

    func vitals() async -> GatewayVitals {
        let isOpen = await self.store.isOpen()
        let isBound = self.proxy.isBound
        return GatewayVitals(
            version: MartletVersion.current,
            replica: GatewayVitals.Replica(name: self.name, incarnation: self.incarnation, startedAt: self.startedAt),
            store: GatewayVitals.Store(driver: self.driver, isOpen: isOpen),
            listeners: self.listeners.map { GatewayVitals.Listener(address: $0, isBound: isBound) },
            isLeaseHeld: self.kills.holdsLease,
            isStopping: self.proxy.isStopping,
            configuration: self.status.configuration
        )
    }

    func metrics() async -> MetricsText {
        let report = await self.counts.report(of: self.proxy, self.engine, self.webhook)
        return MetricsText(contentType: MetricsReport.contentType, text: report.text)
    }
}
