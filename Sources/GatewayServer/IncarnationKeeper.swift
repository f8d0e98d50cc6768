internal import KillSwitch
internal import Logging
internal import Settings
internal import SystemSupport
internal import TokenModel
internal import TokenRefresh
internal import TokenStorage

/// Manages the incarnations of this host, from the start of this one to its end.
struct IncarnationKeeper: Sendable {
    private let host: DirectoryHostState
    private let logger: Logger

    /// The interval between searches for ended incarnations. A refresh that meets a claim of one searches at once.
    private static let interval = Duration.seconds(60)

    init(_ host: DirectoryHostState, logger: Logger) {
        self.host = host
        self.logger = logger
    }

    /// Begins `incarnation` and takes over what ended incarnations left behind, before any credential is requested. If
    /// this host can't keep some of its state, that is logged, and the process serves all the same.
    func begin(_ incarnation: IncarnationID, _ settings: GatewaySettings, _ store: OpenedStore) async {
        let inheritance = await self.host.begin(
            incarnation,
            store,
            journal: settings.store.isDurable
                ? JournalCapacity(
                    refreshesPerSecond: settings.providers.reduce(0) { $0 + $1.refreshRate.perSecond },
                    burst: settings.providers.reduce(0) { $0 + $1.refreshRate.burst },
                    on: store.store.guarantees
                ) : nil,
            { record, account throws(StoreError) in
                try await KillSwitch.storeForRevocation(orphanOf: account, record, in: store.records)
            }
        )
        for limitation in await self.host.limitations {
            self.logger.error(
                "state_dir does not support everything the gateway needs",
                metadata: ["host.limitation": "\(limitation)"]
            )
        }
        self.report(inheritance)
    }

    /// Returns when its task is canceled.
    func run(_ store: any TokenStore) async {
        await withDiscardingTaskGroup { tasks in
            tasks.addTask {
                // Within the rest that claims keep after a failover.
                for await change in store.changes() where change == .anotherServer {
                    self.report(await self.host.inheritAll(hasFailedOver: true))
                }
            }
            while !Task.isCancelled {
                let clock = Timepiece.system
                await clock.rest(until: clock.now.boot.advanced(by: Self.interval))
                guard !Task.isCancelled else { break }
                self.report(await self.host.inheritAll())
            }
            tasks.cancelAll()
        }
    }

    /// Ends the incarnation in order. Call it when no refresh is in progress any more.
    func end(leavesNothing: Bool) async { await self.host.close(leavesNothing: leavesNothing) }

    private func report(_ inheritance: Inheritance) {
        if inheritance.incarnations > 0 {
            self.logger.notice(
                "earlier starts on this host did not stop in order",
                metadata: ["boots.count": .stringConvertible(inheritance.incarnations)]
            )
        }
        if inheritance.committed + inheritance.dropped > 0 {
            self.logger.notice(
                "new tokens were in the journals of earlier starts",
                metadata: [
                    "journal.committed": .stringConvertible(inheritance.committed),
                    "journal.dropped": .stringConvertible(inheritance.dropped),
                ]
            )
        }
        if inheritance.unopened > 0 {
            let keys = inheritance.missingKeys.map(\.description).sorted().joined(separator: ", ")
            self.logger.error(
                "new tokens stay in the journals of earlier starts: they do not open with the sealing keys that are there",
                metadata: [
                    "error.code": keys.isEmpty ? "journal_unreadable" : "journal_key_missing",
                    "journal.unopened": .stringConvertible(inheritance.unopened), "sealing_key.missing": "\(keys)",
                ]
            )
        }
        if inheritance.left > 0 {
            self.logger.error(
                "new tokens stay in the journals of earlier starts: the store does not take them",
                metadata: ["journal.left": .stringConvertible(inheritance.left)]
            )
        }
    }
}
