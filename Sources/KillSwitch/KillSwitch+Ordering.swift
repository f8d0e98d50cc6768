internal import Logging
internal import Synchronization
package import TokenModel
internal import TokenStorage

/// Kills that the store has not taken. They hold in this process at once, and outlive it in `state_dir`. They are
/// written when the store is back, and stay in `state_dir` until they are in the audit log.
extension KillSwitch {
    /// Who asked this process for a kill.
    struct Asker {
        /// Who asked, and from where, in one text.
        let address: String?
    }

    /// Fences this process against `entry`, before anything is asked of the store.
    func raise(_ entry: KillEntry, by requester: String?) async {
        self.state.withLock { state in
            state.askers[entry.id] = Asker(address: requester)
            _ = state.machine.log.pendingKill(PendingKill(entry: entry))
        }
        let draining = await self.fenceAnew().draining
        if entry.streams == .drain { self.note(pendingKill: entry.id) { $0.draining = draining } }
    }

    /// Withdraws a pending kill that no store will ever take.
    func withdraw(_ entry: KillEntry) async {
        self.state.withLock { state in
            state.machine.log.withdraw(entry.id)
            state.askers[entry.id] = nil
        }
        await self.fenceAnew()
    }

    /// - Returns: whether the kill is still pending.
    @discardableResult
    private func note(pendingKill id: KillID, _ change: (inout PendingKill) -> Void) -> Bool {
        self.state.withLock { $0.machine.log.note(pendingKill: id, change) }
    }

    /// Keeps a pending kill that the store did not take.
    ///
    /// - Returns: `true` where the kill is pending, and is reported once it is in the store; `false` where it is in the
    ///   store already.
    func keep(_ entry: KillEntry, _ cause: StoreError) async -> Bool {
        // Once the cause is set, the kill is reported when it is in the store.
        guard self.note(pendingKill: entry.id, { $0.cause = cause.code }) else { return false }
        self.logger.error(
            """
            a kill does not stand in the store: this replica has stopped, another does when it could not read the store for \
            its lease; the kill is written as soon as the store takes it
            """,
            metadata: [
                "kill.id": "\(entry.id)", "kill.scope": "\(entry.scope.text)", "error.code": "\(cause.code.rawValue)",
                "error.reason": "\(cause.message)",
            ]
        )
        do throws(StoreError) {
            try await self.host.keep(pendingKill: entry.encoded(), id: entry.id.rawValue)
            self.note(pendingKill: entry.id) { $0.isInCopy = true }
            // The kill may have been written and recorded before it was kept.
            if self.state.withLock({ $0.recorded.contains(entry.id) }) {
                await self.host.drop(pendingKill: entry.id.rawValue)
            }
        } catch {
            self.logger.error(
                "a kill that the store has not taken could not be kept in state_dir: it ends with this process",
                metadata: ["kill.id": "\(entry.id)", "error.reason": "\(error.message)"]
            )
        }
        return true
    }

    /// Takes up kills that an earlier start, or another process on this `state_dir`, could not write to the store or
    /// record. Called before anything is served, and from time to time, because such a process may have died since.
    ///
    /// - Throws: ``StoreError/Code/unreadable`` where a kill is damaged, because it is unknown what it kills. The
    ///   others hold.
    func takeUpPendingKills() async throws(StoreError) {
        var damage: StoreError?
        var isNew = false
        for file in try await self.host.pendingKills() {
            let pendingKill: PendingKill
            do throws(StoreError) {
                pendingKill = PendingKill(
                    entry: try KillEntry(decoding: file.get()),
                    isInCopy: true,
                    cause: .unreachable
                )
            } catch {
                damage = damage ?? error
                continue
            }
            guard self.state.withLock({ $0.machine.log.pendingKill(pendingKill) }) else {
                // A kept kill that is in the log already is not in the audit log yet.
                self.tell(ofKept: pendingKill)
                continue
            }
            isNew = true
            self.logger.warning(
                "a kill from an earlier run is not in the store yet; it is in force here",
                metadata: ["kill.id": "\(pendingKill.entry.id)", "kill.scope": "\(pendingKill.entry.scope.text)"]
            )
        }
        if isNew { await self.fenceAnew() }
        if let damage { throw damage }
    }

    /// Reports a kept kill that is in the store, once per process. The reader of ``keptKills`` records it.
    func tell(ofKept pendingKill: PendingKill) {
        let id = pendingKill.entry.id
        let (epoch, asker) = self.state.withLock { state in
            let epoch = state.machine.log.kill(id)?.epoch
            guard epoch != nil, state.told.insert(id).inserted else { return (Epoch?.none, Asker?.none) }
            return (epoch, state.askers[id])
        }
        guard let epoch else { return }
        self.logger.notice(
            "a kill that had to wait for the store is in the store now",
            metadata: ["kill.id": "\(id)", "kill.scope": "\(pendingKill.entry.scope.text)"]
        )
        self.newlyStanding.yield(
            KeptKill(
                id: id,
                scope: pendingKill.entry.scope,
                reason: pendingKill.entry.reason,
                epoch: epoch,
                requestedAt: pendingKill.entry.at,
                isOwn: asker != nil,
                requester: asker?.address
            )
        )
    }

    /// Confirms that a kill of ``keptKills`` is in the audit log. Until then each start reports it. Its audit record
    /// carries the kill's ID, so that a record written twice is seen as one.
    package func recorded(_ kill: KeptKill) async {
        self.state.withLock { _ = $0.recorded.insert(kill.id) }
        await self.host.drop(pendingKill: kill.id.rawValue)
    }

    /// The report on a kill that the store has not taken.
    func report(on pendingKill: PendingKill) -> KillReport {
        KillReport(
            id: pendingKill.entry.id,
            scope: pendingKill.entry.scope,
            reason: pendingKill.entry.reason,
            streams: pendingKill.entry.streams,
            epoch: .start,
            state: .pending,
            store: pendingKill.cause == .unwritable ? .unwritable : .unreachable,
            replicas: [KillReport.Replica(name: self.name, state: .acknowledged)],
            draining: pendingKill.draining,
            startedAt: pendingKill.entry.at
        )
    }

    /// The scopes of kills that the store has not taken.
    package var waitingScopes: [KillScope] { self.known.pendingKills.filter { $0.cause != nil }.map(\.entry.scope) }
}
