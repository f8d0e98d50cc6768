internal import Alerts
internal import Proxy
internal import Settings
internal import Telemetry
internal import TokenModel
internal import TokenRefresh
internal import TokenStorage

/// What is counted outside of the data path, and where all that is counted comes together.
struct ProgramMetrics: Sendable {
    let refreshes: RefreshMeter
    let store: DurationMeter
    let events = EventMeter(RefreshEvent.Kind.allCases.map(\.rawValue))

    init(_ settings: GatewaySettings) {
        // The ones to alert on are there from the start; the others come with their first time.
        self.refreshes = RefreshMeter(
            settings.providers.map(\.id),
            outcomes: ["success", "dead", "config", "refused", "not_provider", "not_sent", "ambiguous"]
        )
        self.store = DurationMeter(TimedTokenStore.Operation.allCases.map(\.rawValue))
    }

    /// `store` with its calls timed.
    func timing(_ store: any TokenStore) -> TimedTokenStore {
        let meter = self.store
        return TimedTokenStore(store) { operation, time in meter.add(operation.rawValue, took: time) }
    }

    /// All metrics of this moment.
    func report(of proxy: ProxyServer, _ engine: RefreshEngine, _ webhook: Webhook) async -> MetricsReport {
        let accounts = await engine.accountCounts().sorted { $0.key < $1.key }
        let alerts = webhook.counts
        return MetricsReport(
            version: MartletVersion.current,
            routes: proxy.routeNames,
            traffic: await proxy.traffic(),
            waiters: proxy.waiterCount,
            accounts: accounts.flatMap { provider, counts in
                AccountStatus.State.allCases.map { state in
                    MetricsReport.Accounts(provider: provider, state: state.rawValue, count: counts.states[state] ?? 0)
                }
            },
            troubles: accounts.flatMap { provider, counts in
                AccountIssue.Kind.allCases.map { kind in
                    MetricsReport.Issues(provider: provider, kind: kind.rawValue, count: counts.issues[kind] ?? 0)
                }
            },
            refreshes: self.refreshes.providers,
            store: self.store.operations,
            repairs: engine.repairCount,
            standings: engine.providers.sorted { $0.key < $1.key }.flatMap { provider, status in
                [ProviderAvailability.Word.failing, .refusesClient, .notProvider].map { word in
                    MetricsReport.Availability(
                        provider: provider,
                        reason: word.rawValue,
                        isHeld: status.word == word
                    )
                }
            },
            events: self.events.events,
            alerts: [("delivered", alerts.delivered), ("dropped", alerts.dropped), ("failed", alerts.failed)]
        )
    }
}
