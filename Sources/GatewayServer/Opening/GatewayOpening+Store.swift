internal import Audit
internal import KillSwitch
internal import Logging
internal import Settings
internal import SystemSupport
internal import TokenModel
internal import TokenStorage

/// The store that a gateway starts on: whether it is the right one, whole, and not behind what this host knows.
extension GatewayOpening {
    /// A store that may be used, as ``begin(_:keys:)`` needs it.
    typealias Usable = (
        driver: DriverStore, store: OpenedStore, watch: StoreWatch, timepiece: Timepiece, place: StorePlace?,
        arrival: ReplicaID?
    )

    static func openStore(
        _ front: GatewayFront,
        _ keys: any KeyRingSource,
        _ incarnation: IncarnationID,
        _ cleanup: inout CleanupStack
    ) async throws(StartError) -> Usable {
        let (driver, opened, watch) = try await Self.openDriver(front, keys, &cleanup)
        let timepiece = Timepiece.corrected(by: watch.correction)
        let (place, arrival) = try await Self.arrive(at: opened, driver, timepiece, front, incarnation, &cleanup)
        var store = opened
        store.moves = { driver.migration?.moves ?? place?.moves ?? 0 }
        return (driver, store, watch, timepiece, place, arrival)
    }

    private static func openDriver(
        _ front: GatewayFront,
        _ keys: any KeyRingSource,
        _ cleanup: inout CleanupStack
    ) async throws(StartError) -> (DriverStore, OpenedStore, StoreWatch) {
        let (settings, logger) = (front.settings, front.logger)
        if !settings.store.isDurable {
            logger.warning("the memory store loses all tokens when this process ends")
        }
        let driver = try await DriverStore.open(settings, keys: keys, createsMissing: true) { $0.tell(logger) }
        cleanup.push(driver.close)
        for warning in driver.warnings {
            logger.warning("the store needs attention", metadata: ["store.warning": "\(warning)"])
        }
        let opened: OpenedStore
        do throws(StoreError) {
            opened = try await OpenedStore.open(
                front.metrics.timing(driver.store),
                keys: driver.keys,
                mirror: front.acceptsOlderStore ? .promote : .refuse
            )
        } catch {
            throw StartError(error, store: driver.name, isOfKey: error.code == .unreadable)
        }
        do throws(StoreError) {
            let watch = StoreWatch(driver, logger: logger)
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
    private static func arrive(
        at store: OpenedStore,
        _ driver: DriverStore,
        _ timepiece: Timepiece,
        _ front: GatewayFront,
        _ incarnation: IncarnationID,
        _ cleanup: inout CleanupStack
    ) async throws(StartError) -> (place: StorePlace?, arrival: ReplicaID?) {
        do throws(StoreError) {
            guard let migration = driver.migration else { return (try await store.wholePlace(), nil) }
            guard migration.phase == .before else { return (nil, nil) }
            let arrival = try await KillSwitch.announceArrival(
                store.records,
                incarnation,
                name: front.name,
                lease: front.settings.replica.lease,
                at: timepiece.now.wall
            )
            cleanup.push { await KillSwitch.withdrawArrival(arrival, store.records) }
            // They may have gone there just before.
            guard try await migration.goOver() else { return (nil, arrival) }
            await migration.leaveBehind(.replica(arrival.rawValue))
            return (nil, nil)
        } catch {
            throw StartError(error, store: driver.name)
        }
    }

    /// Refuses a store that lacks kills this host knows, and a store that is not the one this host knows.
    static func checkKillLog(
        of store: OpenedStore,
        _ host: DirectoryHostState,
        _ front: GatewayFront
    ) async throws(StartError) {
        guard front.settings.store.isDurable else { return }
        do throws(StoreError) {
            if !front.acceptsOlderStore {
                try await KillSwitch.expectWhole(store.records, copy: host, logger: front.logger)
            }
            try await KillSwitch.expectNoOther(
                store.records,
                copy: host.killLog,
                acceptsOlderStore: front.acceptsOlderStore,
                logger: front.logger
            )
        } catch {
            throw StartError(error, store: "of this gateway")
        }
    }

    /// Starts the kill switch. If an operator accepts an older store, that is recorded first.
    ///
    /// The record is appended to the end that the restored log has now: later numbers were given out before.
    func startKillSwitch(_ kills: KillSwitch, overridesLock: Bool) async throws(StartError) {
        let isDurable = self.front.settings.store.isDurable
        let acceptsOlderStore = self.front.acceptsOlderStore
        let acceptance = acceptsOlderStore && isDurable ? try await self.announceOlderStore(to: kills) : nil
        do throws(StoreError) {
            // The memory store is older at each start; no operator has to accept that.
            try await kills.start(
                acceptsOlderStore: acceptsOlderStore || !isDurable,
                overridesLock: overridesLock,
                arrival: self.arrival
            )
        } catch {
            if let acceptance { await self.audit.end(acceptance, error.code.rawValue) }
            throw StartError(error, store: "of this gateway")
        }
        if let acceptance { await self.audit.end(acceptance, "done") }
    }

    /// - Returns: `nil` if the store lacks nothing.
    private func announceOlderStore(to kills: KillSwitch) async throws(StartError) -> AuditTicket? {
        let missing: (count: Int, last: Epoch)?
        do throws(StoreError) { missing = try await kills.missingInStore() } catch {
            throw StartError(error, store: "of this gateway")
        }
        guard let missing else { return nil }
        let entries = missing.count == 1 ? "1 entry" : "\(missing.count) entries"
        do throws(AuditError) {
            return try await self.audit.begin(
                .acceptOlderStore,
                detail: "the store lacks \(entries) of the kill log, the last of epoch \(missing.last)",
                by: .gateway("serve --accept-older-store")
            )
        } catch {
            throw StartError(.unavailable, error.message)
        }
    }
}
