internal import AdminAPI
internal import KillSwitch
internal import Logging
internal import Proxy
internal import Settings
internal import Telemetry
internal import TokenModel
internal import TokenRefresh
internal import TokenStorage

/// Tells the admin API what this process is and whether it can serve callers.
struct ProgramMonitor: GatewayMonitor {
    let front: GatewayFront
    /// Where callers connect. All listeners are bound before the admin API opens, and are closed together.
    let listeners: [String]
    let recorder: TrafficRecorder
    /// What stands for the incarnation while the gateway is locked.
    private let lockedIncarnation = IncarnationID.random()

    init(front: GatewayFront, listeners: [String], recorder: TrafficRecorder) {
        self.front = front
        self.listeners = listeners
        self.recorder = recorder
    }

    func vitals() async -> GatewayVitals {
        let (front, part) = (self.front, self.front.part)
        let isOpen = await part?.probe.isOpen() ?? false
        let isBound = front.proxy.isBound
        return GatewayVitals(
            version: MartletVersion.current,
            replica: GatewayVitals.Replica(
                name: front.name,
                incarnation: part?.incarnation ?? self.lockedIncarnation,
                startedAt: front.startedAt
            ),
            store: GatewayVitals.Store(
                driver: front.settings.store.driver,
                isOpen: isOpen,
                server: part?.storeWatch.vitals,
                move: part?.driver.migration.map { migration in
                    let progress = migration.progress
                    return GatewayVitals.Store.Move(state: progress.state.rawValue, moved: progress.moved)
                },
                mirrors: part?.driver.mirroring?.states.map(\.vitals) ?? []
            ),
            listeners: self.listeners.map { GatewayVitals.Listener(address: $0, isBound: isBound) },
            isLeaseHeld: part?.kills.holdsLease ?? false,
            isStopping: front.proxy.isStopping,
            configuration: front.status.configuration
        )
    }

    func metrics() async -> MetricsText {
        let report = await self.front.metrics.report(of: self.front)
        return MetricsText(contentType: MetricsReport.contentType, text: report.text)
    }

    func history() async -> GatewayHistory { self.recorder.samples }
}

extension MirrorState {
    fileprivate var vitals: GatewayVitals.Store.Mirror {
        GatewayVitals.Store.Mirror(name: self.name, state: self.word, completeAt: self.completeAt)
    }

    private var word: String {
        switch self.phase {
        case .behind: "behind"
        case .upToDate: "up_to_date"
        case .promoted: "promoted"
        case .refused: "refused"
        }
    }

    /// Logs that the mirror has fallen behind, or has caught up.
    func tell(_ logger: Logger) {
        let facts: Logger.Metadata = ["mirror.name": "\(self.name)"]
        switch self.phase {
        case .upToDate: logger.notice("a mirror has all records", metadata: facts)
        case .behind:
            logger.warning("a mirror is behind: records are missing there until it is caught up", metadata: facts)
        case .promoted:
            logger.error(
                "a mirror was made a store of its own, and is written no more: take it out of the configuration",
                metadata: facts
            )
        case .refused(let reason):
            logger.error(
                "a mirror is not one of this store, and is not written",
                metadata: facts.merging(["error.reason": "\(reason)"]) { $1 }
            )
        }
    }
}

/// Checks whether the store can be read. Anybody may ask, so concurrent questions share one read.
actor StoreProbe {
    private let store: any TokenStore
    private var asked: Task<Bool, Never>?

    init(_ store: any TokenStore) {
        self.store = store
    }

    func isOpen() async -> Bool {
        if let asked { return await asked.value }
        let store = self.store
        let asking = Task {
            do throws(StoreError) {
                return try await store.read(.canary) != nil
            } catch {
                return false
            }
        }
        self.asked = asking
        let isOpen = await asking.value
        self.asked = nil
        return isOpen
    }
}

/// The counters outside of the data path, and the place where all metrics are collected.
struct ProgramMetrics: Sendable {
    let refreshes: RefreshMeter
    let store: DurationMeter
    let events = EventMeter(RefreshEvent.Kind.allCases.map(\.rawValue))

    init(_ settings: GatewaySettings) {
        // The outcomes to alert on exist from the start. The others appear when they first occur.
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

    /// A snapshot of all metrics.
    func report(of front: GatewayFront) async -> MetricsReport {
        let (proxy, engine) = (front.proxy, front.part?.engine)
        let accounts = await engine?.accountCounts().sorted { $0.key < $1.key } ?? []
        let alerts = front.webhook.counts
        return MetricsReport(
            version: MartletVersion.current,
            routes: proxy.routeNames,
            traffic: await proxy.traffic(),
            waiters: proxy.waiterCount,
            caches: await proxy.cacheStatus().map { MetricsReport.Cache($0) },
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
            repairs: engine?.repairCount ?? 0,
            standings: (engine?.providers ?? [:]).sorted { $0.key < $1.key }.flatMap { provider, status in
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

/// The version of this program.
package enum MartletVersion {
    /// In the format of semantic versioning.
    package static let current = "0.1.0"
}
