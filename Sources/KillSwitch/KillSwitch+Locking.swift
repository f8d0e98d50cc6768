internal import Logging
internal import Synchronization
package import TokenModel
package import TokenStorage

/// Locks of all replicas, which the log carries.
///
///     `locked` is appended ──▶ each replica reads it, puts no token into a request any more (``KillFence/locked(_:)``), and
///       acknowledges ──▶ its ``lockOrders`` has it stopped ──▶ the replica that was asked waits as for a kill
///
/// Until an `unlocked` follows, no replica starts (``StoreError/Code/locked``) unless it is told to override the lock.
extension KillSwitch {
    /// The lock of all replicas that stands in the log; `nil` if none does.
    package static func standingLock(_ records: SealedRecords) async throws(StoreError) -> KillEntry? {
        try await KillLog(records).contents().standingLock?.entry
    }

    /// Locks all replicas, and waits for up to `wait` until each has acknowledged that, has stopped, or has been silent for
    /// its lease.
    ///
    /// - Parameter requester: who orders it, and from where.
    /// - Returns: how far it is. A lock that is pending goes on by itself, as long as this replica runs.
    /// - Throws: ``KillSwitchError/Code/storeLost`` where the lock may or may not stand in the log.
    package func orderLock(
        reason: String,
        wait: Duration,
        by requester: String? = nil
    ) async throws(KillSwitchError) -> KillReport {
        let now = self.timepiece.now
        let deadline = now.boot.advanced(by: wait)
        let entry = KillEntry(.locked, .all, requester: requester, reason: reason, at: now.wall)
        let epoch = try await self.append(locking: entry)
        self.logger.notice(
            "all replicas are told to lock",
            metadata: ["kill.epoch": .stringConvertible(epoch.rawValue)]
        )
        await self.watch(epoch, until: deadline)
        return await self.report(onLock: epoch, entry)
    }

    /// How far the lock that stands is; `nil` where none was ordered since the start.
    package func lockReport() async -> KillReport? {
        guard let lock = self.newLock else { return nil }
        return await self.report(onLock: lock.epoch, lock.entry)
    }

    private func report(onLock epoch: Epoch, _ entry: KillEntry) async -> KillReport {
        do throws(KillSwitchError) {
            return try await self.outline(of: epoch, entry)
        } catch {
            // The lock is in the log, so this must not look like a failure.
            var report = self.knownReport(on: epoch, entry)
            report.store = .unreachable
            return report
        }
    }

    /// Writes a lock until this process has read it in the log: what was written may be lost, or may be behind a move to
    /// another store.
    private func append(locking entry: KillEntry) async throws(KillSwitchError) -> Epoch {
        var tries = 0
        let moved = self.timepiece.now.boot.advanced(by: Self.patienceWithMoves)
        while true {
            // An earlier write may have landed although its answer was lost.
            if let epoch = self.known.kill(entry.id)?.epoch { return epoch }
            var failure = StoreError(.unreachable, "the lock was written, and is not in the log that was read then")
            do throws(StoreError) {
                _ = try await self.log.append(entry, behind: self.epochs.last)
                try await self.poll()
            } catch {
                failure = error
            }
            if self.known.kill(entry.id) != nil { continue }
            if failure.code == .moved, self.move != nil {
                // The replicas go over to another store at this moment.
                guard self.timepiece.now.boot < moved, !Task.isCancelled else { throw KillSwitchError(failure) }
            } else {
                tries += 1
                guard failure.code == .unreachable, tries < Self.mostTries else { throw KillSwitchError(failure) }
            }
            await self.timepiece.rest(until: self.timepiece.now.boot.advanced(by: .milliseconds(200)))
        }
    }

    /// How long a lock waits for the replicas to go over to another store.
    private static let patienceWithMoves = Duration.seconds(30)

    /// Lets replicas start again without overriding the lock that stands. It lifts only a lock that this replica has
    /// overridden (``start(acceptsOlderStore:overridesLock:arrival:)``): one that was ordered since is to be obeyed.
    /// Call it before ``run()``, whose polls it would get in the way of.
    ///
    /// - Returns: the number of the entry; `nil` where there is no such lock, so nothing was written.
    @discardableResult
    package func orderUnlock(by requester: String? = nil) async throws(KillSwitchError) -> Epoch? {
        let entry = KillEntry(.unlocked, .all, requester: requester, at: self.timepiece.now.wall)
        while true {
            do throws(StoreError) {
                try await self.performPoll()
                let contents = self.known.contents
                guard contents.standingLock != nil, self.newLock == nil else { return nil }
                // Directly behind the log as it was read, so that it lifts no unseen lock.
                let epoch = contents.last.next
                guard try await self.write(entry, at: epoch) else { continue }
                try? await self.performPoll()
                self.logger.notice(
                    "replicas may start again without being unlocked",
                    metadata: ["kill.epoch": .stringConvertible(epoch.rawValue)]
                )
                return epoch
            } catch {
                throw KillSwitchError(error)
            }
        }
    }

    /// The names of the other replicas that are listed; empty where the store does not say.
    package func otherReplicas() async -> [String] {
        guard let listing = try? await self.replicas.list() else { return [] }
        let others = listing.entries.filter { $0.record.incarnation != self.incarnation && !$0.record.isExpelled }
        return (others.map(\.record.name) + listing.unreadable.map(\.unreadableName)).sorted()
    }

    // MARK: - What the log says

    /// The lock that stands in the log as this process has applied it, unless it was overridden at the start.
    var newLock: NumberedKillEntry? {
        self.state.withLock { state in
            state.machine.log.contents.standingLock.flatMap { $0.epoch > state.overriddenLock ? $0 : nil }
        }
    }

    /// Decides at the start whether this replica may join.
    func honourLock(in contents: KillLogContents, overrides: Bool) throws(StoreError) {
        guard let lock = contents.standingLock else { return }
        guard overrides else { throw .locked(lock.entry) }
        self.state.withLock { $0.overriddenLock = lock.epoch }
    }

    /// Acts on a lock that was just read, before this replica acknowledges it.
    func take(_ lock: KillEntry) async {
        await self.fence.locked(lock)
        self.logger.notice("all replicas are locked, and this one too", metadata: ["kill.id": "\(lock.id)"])
        self.newlyLocked.yield(lock)
    }
}

// MARK: - Kills given to a locked replica

extension KillSwitch {
    /// Keeps a kill that is given to a locked replica, which has no store to write it to.
    ///
    /// - Parameters:
    ///   - requester: who orders it, and from where.
    ///   - others: the replicas that took kills when this one was locked.
    /// - Throws: ``KillSwitchError/Code/storeLost`` where it can't be kept, so that it has no effect.
    package static func keep(
        _ entry: KillEntry,
        by requester: String?,
        in orders: LockedOrders,
        others: [String]
    ) async throws(KillSwitchError) -> KillReport {
        do throws(StoreError) {
            try await orders.add(LockedOrders.Kill(id: entry.id.rawValue, bytes: entry.encoded(), requester: requester))
        } catch {
            throw KillSwitchError(
                .storeLost,
                "this replica is locked, and the kill could not be kept until it is unlocked (\(error.message)): give it "
                    + "to another replica"
            )
        }
        return KillReport(
            id: entry.id,
            scope: entry.scope,
            reason: entry.reason,
            streams: entry.streams,
            epoch: .start,
            state: .pending,
            store: .locked,
            wasKept: true,
            replicas: [],
            canDoItNow: others,
            startedAt: entry.at
        )
    }

    /// Makes the kills that were given to this replica while it was locked pending kills of its store. Call it before
    /// ``start(acceptsOlderStore:overridesLock:arrival:)``, which takes those up: so they hold before anything is served, and
    /// ``keptKills`` reports each with who ordered it.
    ///
    /// - Throws: ``StoreError/Code/unreadable`` where a kill is damaged, because it is unknown what it kills;
    ///   ``StoreError/Code/unwritable`` where one can't be kept. The others are taken over.
    package func takeOver(_ orders: LockedOrders) async throws(StoreError) {
        var damage: StoreError?
        for file in try await orders.kills() {
            do throws(StoreError) {
                let kill = try file.get()
                let id = try KillEntry(decoding: kill.bytes).id
                try await self.host.keep(pendingKill: kill.bytes, id: id.rawValue)
                self.state.withLock { $0.askers[id] = Asker(address: kill.requester) }
                await orders.drop(kill: kill.id)
            } catch {
                damage = damage ?? error
            }
        }
        if let damage { throw damage }
    }

    /// Takes kills over that came in while this replica was being unlocked. They hold when this returns.
    package func takeUp(_ orders: LockedOrders) async {
        do throws(StoreError) {
            try await self.takeOver(orders)
            try await self.takeUpPendingKills()
        } catch {
            self.logger.error(
                "a kill that was given to this replica while it was locked can't be taken up",
                metadata: ["error.code": "\(error.code.rawValue)", "error.reason": "\(error.message)"]
            )
        }
        self.ringForRenewal()
    }
}
