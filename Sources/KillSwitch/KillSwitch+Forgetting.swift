internal import Logging
internal import Synchronization
package import TokenModel
internal import TokenStorage

/// Forgets replicas, so that no kill waits for them, in two steps. First the replica is marked as expelled. Its record
/// is removed once the replica can no longer put a token into a request without having seen the mark.
extension KillSwitch {
    /// A replica that may be forgotten.
    package struct KnownReplica: Sendable {
        package let id: ReplicaID
        /// Its name in the list, or a substitute where its record does not open.
        package let name: String
        /// Its incarnation, or the ID of the replica where its record does not open.
        package let incarnation: String
        /// `nil` where the record does not open.
        let entry: ReplicaVault.Entry?
    }

    /// The replica with that name, that incarnation, or an incarnation that begins so.
    package func replica(called name: String) async throws(KillSwitchError) -> KnownReplica {
        let listing = try await self.replicaListing()
        let id = try self.replica(called: name, in: listing)
        let entry = listing.entries.first { $0.id == id }
        return KnownReplica(
            id: id,
            name: entry?.record.name ?? id.unreadableName,
            incarnation: entry?.record.incarnation.rawValue ?? id.rawValue,
            entry: entry
        )
    }

    /// Finds a replica as ``replica(called:)`` does, and forgets it.
    package func forget(_ name: String) async throws(KillSwitchError) -> ReplicaExpulsion {
        try await self.forget(try await self.replica(called: name))
    }

    /// Expels a replica.
    ///
    /// A running replica notices that at its next poll, stops, and joins again. A replica whose record does not open is
    /// forgotten as if it had the longest possible lease.
    package func forget(_ replica: KnownReplica) async throws(KillSwitchError) -> ReplicaExpulsion {
        do throws(StoreError) {
            let id = replica.id
            if let known = replica.entry, try await self.withoutDead(known) == nil {
                return ReplicaExpulsion(id: id, name: replica.name, until: nil)
            }
            let now = self.timepiece.now
            guard let entry = try await self.replicas.expel(id, longestLease: Self.longestLease, at: now.wall) else {
                return ReplicaExpulsion(id: id, name: replica.name, until: nil)
            }
            self.logger.notice(
                "a replica is expelled",
                metadata: ["replica.name": "\(entry.record.name)", "replica.boot": "\(entry.record.incarnation)"]
            )
            self.seeExpelled(entry)
            return ReplicaExpulsion(
                id: id,
                name: entry.record.name,
                until: now.wall.advanced(by: self.silence(of: entry))
            )
        } catch {
            throw KillSwitchError(error)
        }
    }

    /// The longest lease that the configuration allows.
    private static let longestLease = Duration.seconds(300)
    private static let shortestBeginning = 6

    private func replica(
        called name: String,
        in listing: ReplicaVault.Listing
    ) throws(KillSwitchError) -> ReplicaID {
        let isBeginning = name.utf8.count >= Self.shortestBeginning
        let named = listing.entries.filter { entry in
            entry.record.name == name || isBeginning && entry.record.incarnation.rawValue.hasPrefix(name)
        }
        // This process may be a restarted gateway of the same name. It is not the one that is meant.
        let others = named.filter { $0.record.incarnation != self.incarnation }
        let unreadable = listing.unreadable.filter { isBeginning && $0.rawValue.hasPrefix(name) }
        switch (others.count + unreadable.count, named.isEmpty) {
        case (1, _):
            if let id = others.first?.id ?? unreadable.first { return id }
            fallthrough
        case (0, true):
            throw KillSwitchError(.noSuchReplica, "no replica has that name or boot; martlet replicas list shows them")
        case (0, false):
            throw KillSwitchError(
                .ownReplica,
                "that replica is the one that was asked, and it runs: stop it, and it takes itself out of the list"
            )
        default:
            throw KillSwitchError(
                .ambiguousReplica,
                "several replicas have that name: say the boot, or its beginning; martlet replicas list shows them"
            )
        }
    }

    /// Has an expelled replica removed when its time is up, including one that another process has expelled and not
    /// removed.
    func seeExpelled(_ entry: ReplicaVault.Entry) {
        guard self.state.withLock({ $0.expelled.insert(entry.id).inserted }) else { return }
        self.newlyExpelled.yield(entry)
    }

    private func silence(of entry: ReplicaVault.Entry) -> Duration {
        entry.record.silence(on: self.records.store.guarantees.reach)
    }

    /// Removes expelled replicas, each after its lease and a margin (``ReplicaRecord/silence(on:)``), by this process's
    /// clock.
    func removeExpelled() async {
        await withDiscardingTaskGroup { tasks in
            for await entry in self.expelled {
                tasks.addTask {
                    await self.timepiece.rest(
                        until: self.timepiece.now.boot.advanced(by: self.silence(of: entry))
                    )
                    if !Task.isCancelled { await self.removeExpelled(entry) }
                    self.state.withLock { _ = $0.expelled.remove(entry.id) }
                }
            }
            tasks.cancelAll()
        }
    }

    /// A record that can't be removed now is tried again once a minute.
    private func removeExpelled(_ entry: ReplicaVault.Entry) async {
        do throws(StoreError) {
            guard try await self.replicas.remove(entry.id, expecting: entry.version) else { return }
            // It may have stored dead tokens, and have ended before it had them taken away.
            self.sweepAll()
            self.logger.notice("a replica is forgotten", metadata: ["replica.name": "\(entry.record.name)"])
        } catch {
            self.logger.debug(
                "an expelled replica waits for the store",
                metadata: ["error.code": "\(error.code.rawValue)"]
            )
        }
    }

    /// Removes replicas whose process has ended, and has expelled ones removed in time.
    func lookAfterReplicas() async throws(StoreError) {
        for entry in try await self.replicas.list().entries {
            if let entry = try await self.withoutDead(entry), entry.record.isExpelled { self.seeExpelled(entry) }
        }
    }
}
