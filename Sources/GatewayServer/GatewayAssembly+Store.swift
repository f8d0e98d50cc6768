internal import Audit
internal import KillSwitch
internal import Logging
internal import Settings
internal import SystemSupport
internal import TokenModel
internal import TokenStorage

/// The store that a gateway starts on: whether it is the right one, whole, and not behind what this host knows.
extension GatewayAssembly {
    mutating func openStore() async throws(StartError) -> (DriverStore, OpenedStore, StoreWatch) {
        if !self.settings.store.isDurable {
            self.logger.warning("the memory store loses all tokens when this process ends")
        }
        let logger = self.logger
        let keys: any KeyRingSource
        do throws(KeyRingError) {
            keys = try await DriverStore.keyOrigin(self.settings, createsMissing: true).keys(offered: nil)
        } catch {
            throw StartError(error)
        }
        let driver = try await DriverStore.open(self.settings, keys: keys, createsMissing: true) { $0.tell(logger) }
        self.cleanup.push(driver.close)
        for warning in driver.warnings {
            logger.warning("the store needs attention", metadata: ["store.warning": "\(warning)"])
        }
        do throws(StoreError) {
            let opened = try await OpenedStore.open(
                self.metrics.timing(driver.store),
                keys: driver.keys,
                mirror: self.acceptsOlderStore ? .promote : .refuse
            )
            let watch = StoreWatch(driver, logger: self.logger)
            try await watch.look()
            return (driver, opened, watch)
        } catch {
            throw StartError(error, store: driver.name)
        }
    }

    /// Finds out which copy of the records this is, and whether it may be used alone. If the records are about to move to
    /// another store, announces this process, so that the others do not go there before it has joined them.
    ///
    /// - Returns: the place of the store, and the record that stands for this process; both `nil` if there is none.
    mutating func arrive(
        at store: OpenedStore,
        _ driver: DriverStore,
        _ timepiece: Timepiece
    ) async throws(StartError) -> (place: StorePlace?, arrival: ReplicaID?) {
        do throws(StoreError) {
            guard let migration = driver.migration else { return (try await store.wholePlace(), nil) }
            guard migration.phase == .before else { return (nil, nil) }
            let arrival = try await KillSwitch.announceArrival(
                store.records,
                self.incarnation,
                name: self.name,
                lease: self.settings.replica.lease,
                at: timepiece.now.wall
            )
            self.cleanup.push { await KillSwitch.withdrawArrival(arrival, store.records) }
            // They may have gone there just before.
            guard try await migration.goOver() else { return (nil, arrival) }
            await migration.leaveBehind(.replica(arrival.rawValue))
            return (nil, nil)
        } catch {
            throw StartError(error, store: driver.name)
        }
    }

    /// Refuses a store that lacks kills this host knows, and a store that is not the one this host knows.
    func checkKillLog(of store: OpenedStore, _ host: DirectoryHostState) async throws(StartError) {
        guard self.settings.store.isDurable else { return }
        do throws(StoreError) {
            if !self.acceptsOlderStore {
                try await KillSwitch.expectWhole(store.records, copy: host, logger: self.logger)
            }
            try await KillSwitch.expectNoOther(
                store.records,
                copy: host.killLog,
                acceptsOlderStore: self.acceptsOlderStore,
                logger: self.logger
            )
        } catch {
            throw StartError(error, store: "of this gateway")
        }
    }

    /// Records a takeover before a port is shared with the older gateway.
    ///
    /// - Returns: `nil` for an ordinary start.
    mutating func announceTakeover(in audit: AuditTrail) async throws(StartError) -> AuditTicket? {
        guard self.claim == .successor else { return nil }
        do throws(AuditError) {
            let ticket = try await audit.begin(.takeover, by: .gateway("serve --takeover"))
            self.cleanup.push { await audit.end(ticket, "failed") }
            return ticket
        } catch {
            throw StartError(.unavailable, error.message)
        }
    }

    /// Starts the kill switch. If an operator accepts an older store, that is recorded first.
    ///
    /// The record is appended to the end that the restored log has now: later numbers were given out before.
    func startKillSwitch(
        _ kills: KillSwitch,
        _ audit: AuditTrail,
        arrival: ReplicaID?
    ) async throws(StartError) {
        let isDurable = self.settings.store.isDurable
        let acceptance =
            self.acceptsOlderStore && isDurable ? try await Self.announceOlderStore(to: kills, in: audit) : nil
        do throws(StoreError) {
            // The memory store is older at each start; no operator has to accept that.
            try await kills.start(acceptsOlderStore: self.acceptsOlderStore || !isDurable, arrival: arrival)
        } catch {
            if let acceptance { await audit.end(acceptance, error.code.rawValue) }
            throw StartError(error, store: "of this gateway")
        }
        if let acceptance { await audit.end(acceptance, "done") }
    }

    /// - Returns: `nil` if the store lacks nothing.
    private static func announceOlderStore(
        to kills: KillSwitch,
        in audit: AuditTrail
    ) async throws(StartError) -> AuditTicket? {
        let missing: (count: Int, last: Epoch)?
        do throws(StoreError) { missing = try await kills.missingInStore() } catch {
            throw StartError(error, store: "of this gateway")
        }
        guard let missing else { return nil }
        let entries = missing.count == 1 ? "1 entry" : "\(missing.count) entries"
        do throws(AuditError) {
            return try await audit.begin(
                .acceptOlderStore,
                detail: "the store lacks \(entries) of the kill log, the last of epoch \(missing.last)",
                by: .gateway("serve --accept-older-store")
            )
        } catch {
            throw StartError(.unavailable, error.message)
        }
    }
}
