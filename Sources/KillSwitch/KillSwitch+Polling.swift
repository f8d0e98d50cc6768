internal import Logging
internal import Synchronization
internal import TokenModel
package import TokenStorage

/// Keeping up with the log.
extension KillSwitch {
    /// Joins the replicas, reads the whole log, and has the first lease. Call it once, before anything is served.
    ///
    /// - Parameter acceptsOlderStore: entries that the store lacks, and this host's copy has, are written back to it.
    /// - Throws: ``StoreError/Code/outdated`` where it lacks some and that is not wanted.
    package func start(acceptsOlderStore: Bool = false) async throws(StoreError) {
        try await self.takeUpOrders()
        let entries = try await self.readWholeLog(acceptsOlderStore: acceptsOlderStore)
        let ended = try await self.endedKills()
        self.state.withLock { $0.ended = ended }
        try await self.pollOnce(startingWith: entries)
        await self.catchUpInStateDirectory()
    }

    /// Keeps the lease, sees kills through and revokes; ends after ``stop()``, and takes the replica out.
    package func run() async {
        await withTaskCancellationHandler {
            await self.work()
        } onCancel: {
            // Whoever asks for a poll from then on is told so.
            self.stop()
        }
        await self.catchUpInStateDirectory()
        await self.leave()
    }

    private func work() async {
        await withDiscardingTaskGroup { tasks in
            tasks.addTask { await self.ringNowAndThen() }
            // Beside the polls, since it syncs a disk: nobody waits for that, nor does the lease.
            tasks.addTask { for await _ in self.copyBell { await self.catchUpInStateDirectory() } }
            tasks.addTask { await self.followHints() }
            tasks.addTask { await self.sweepNowAndThen() }
            tasks.addTask { await self.revokeNowAndThen() }
            tasks.addTask { await self.watchClaims() }
            tasks.addTask { await self.seeThrough() }
            tasks.addTask { await self.removeExpelled() }
            for await _ in self.bell { await self.answerPolls() }
            tasks.cancelAll()
        }
    }

    /// Has what `state_dir` keeps follow what was read.
    private func catchUpInStateDirectory() async {
        await self.copyEntries()
        await self.releaseOrders()
    }

    /// One poll for all who have asked so far.
    private func answerPolls() async {
        let asking = self.state.withLock { state in
            defer { state.asking = [] }
            return state.asking
        }
        let result: Result<Void, StoreError>
        do throws(StoreError) {
            try await self.pollOnce()
            result = .success(())
        } catch {
            self.complain(of: error)
            result = .failure(error)
        }
        for one in asking { one.answer(result) }
        self.ringForCopy.yield()
    }

    /// Once, when the lease has lapsed: from then on callers are answered `store_lost`.
    private func complain(of error: StoreError) {
        let now = self.timepiece.now.boot
        let isNew = self.state.withLock { state in
            guard !state.hasComplained, state.leaseUntil <= now else { return false }
            state.hasComplained = true
            return true
        }
        self.logger.log(
            level: isNew ? .error : .debug,
            isNew
                ? "the kill log could not be read for as long as the lease, so no token is used"
                : "the kill log could not be read",
            metadata: ["error.code": "\(error.code.rawValue)"]
        )
    }

    /// Asks for a poll that begins from now on, and waits for it.
    ///
    /// - Parameter deadline: until when, whatever the store is at; `nil` waits to its end.
    func poll(until deadline: BootInstant? = nil) async throws(StoreError) {
        let waiter = PollWaiter()
        let isStopped = self.state.withLock { state in
            if !state.isStopped { state.asking.append(waiter) }
            return state.isStopped
        }
        guard !isStopped else { throw StoreError(.unreachable, "the process stops") }
        self.ring.yield()
        let timer = deadline.map { deadline in
            Task {
                await self.timepiece.rest(until: deadline)
                waiter.answer(.failure(StoreError(.unreachable, "the store has not answered in time")))
            }
        }
        defer { timer?.cancel() }
        try await waiter.wait()
    }

    private func ringNowAndThen() async {
        while !Task.isCancelled {
            await self.timepiece.rest(until: self.timepiece.now.boot.advanced(by: min(self.lease / 3, .seconds(3))))
            self.ring.yield()
        }
    }

    private func followHints() async {
        for await change in self.records.store.changes() {
            guard !Task.isCancelled else { return }
            if RecordKey.Prefix.kills.contains(change.key) { self.ring.yield() }
        }
    }

    /// - Parameter first: at the start, the log as far as it was read.
    private func pollOnce(startingWith first: [KillEntry] = []) async throws(StoreError) {
        // Before it joins: others may have waited for it until then and no longer.
        let sentAt = self.timepiece.now.boot
        let misplaced = try await self.join()
        try await self.restoreWhatIsMissing()
        let known = self.epochs.last
        var entries = first
        entries += try await self.log.entries(behind: known.advanced(by: entries.count))
        if await self.raiseOrders(behind: known, entries) {
            entries += try await self.log.entries(behind: known.advanced(by: entries.count))
        }
        await self.take(entries, isStart: !first.isEmpty)
        await self.acknowledge()
        let leaseUntil = sentAt.advanced(by: self.lease - self.lease / 100)
        self.fence.inject(until: leaseUntil)
        let hadLapsed = self.state.withLock { state in
            state.leaseUntil = leaseUntil
            defer { state.hasComplained = false }
            return state.hasComplained
        }
        if hadLapsed { self.logger.notice("the kill log can be read again, and tokens are used again") }
        // Last: the lease needs no write. Who has acknowledged something has written it already.
        if let misplaced, self.state.withLock({ $0.replica?.version }) == misplaced.version {
            await self.showKey(by: misplaced)
        }
    }

    /// Sees to it that this replica is among those whom a kill waits for: before the read that gives it a lease.
    ///
    /// - Returns: its record, where that is not under the key that this process seals with.
    private func join() async throws(StoreError) -> ReplicaVault.Entry? {
        if let known = self.state.withLock({ $0.replica }) {
            if let (found, sealsAnew) = try await self.replicas.readOwn(known.id), !found.record.isExpelled {
                // Sealed anew, perhaps.
                self.state.withLock { $0.replica = found }
                return sealsAnew ? found : nil
            }
            // Nobody waits for it any more.
            self.state.withLock { state in
                state.leaseUntil = .distantPast
                state.replica = nil
                state.stay = .random()
            }
            self.fence.inject(until: .distantPast)
            self.logger.warning("this replica was taken out of the others' list, and joins anew")
        }
        let now = self.timepiece.now
        let record = ReplicaRecord(
            boot: self.boot,
            name: self.name,
            lease: self.lease,
            acknowledged: self.epochs.last,
            joinedAt: now.wall
        )
        let stay = self.state.withLock { $0.stay }
        do throws(StoreError) {
            let entry = try await self.replicas.write(record, for: stay, expecting: nil)
            self.state.withLock { $0.replica = entry }
        } catch {
            // It stands already, by a write whose answer was lost.
            guard error.code == .conflict, let entry = try await self.replicas.read(stay) else { throw error }
            self.state.withLock { $0.replica = entry }
        }
        return nil
    }

    /// Has this replica's record stand under the key that it seals with: whoever takes old keys out goes by that
    /// (`Rekeying`). Where it can't be written the next poll tries again.
    private func showKey(by found: ReplicaVault.Entry) async {
        guard let entry = try? await self.replicas.write(found.record, for: found.id, expecting: found.version) else {
            return
        }
        self.state.withLock { $0.replica = entry }
    }

    /// Fences this process against `entries`, all at once: a long log takes no longer for that than one entry.
    private func take(_ entries: [KillEntry], isStart: Bool) async {
        guard !entries.isEmpty else { return }
        let (_, begun, orders) = await self.fenceAnew(taking: entries)
        if !isStart {
            for account in Set(entries.compactMap(\.replacedAccount)) { await self.fence.replaced(account) }
        }
        if isStart {
            self.logger.info(
                "the kill log was read",
                metadata: ["kill.epoch": .stringConvertible(self.epochs.last.rawValue)]
            )
        } else {
            for kill in begun { self.announce(kill) }
        }
        self.state.withLock { $0.released += orders }
        guard entries.contains(where: { !$0.killsNothing }) else { return }
        self.ringForSweep.yield()
        for kill in begun where !kill.isEnded { self.newlyBegun.yield(kill.epoch) }
    }

    private func announce(_ kill: Kill) {
        self.logger.notice(
            "tokens are killed",
            metadata: [
                "kill.id": "\(kill.entry.id)", "kill.epoch": .stringConvertible(kill.epoch.rawValue),
                "kill.scope": "\(kill.entry.scope.text)",
            ]
        )
    }

    /// The kills that are complete, by what was kept of them and opens.
    private func endedKills() async throws(StoreError) -> Set<Epoch> {
        var ended: Set<Epoch> = []
        try await self.records.store.forEachRecord(under: .killEnds) { (found) async throws(StoreError) in
            let digits = found.key.rawValue.dropFirst(RecordKey.Prefix.killEnds.rawValue.count)
            guard let number = UInt64(digits) else { return }
            if try self.completion(found.stored, at: found.key).end != nil { ended.insert(Epoch(number)) }
        }
        return ended
    }

    /// Says how far this process is fenced. Where that can't be written the others wait for its lease instead.
    private func acknowledge() async {
        let (replica, last) = self.state.withLock { ($0.replica, $0.epochs.last) }
        guard let replica, replica.record.acknowledged < last else { return }
        var record = replica.record
        record.acknowledged = last
        do throws(StoreError) {
            let entry = try await self.replicas.write(record, for: replica.id, expecting: replica.version)
            self.state.withLock { $0.replica = entry }
        } catch {
            // By a write of our own whose answer was lost, or by somebody who expels this replica.
            if let found = try? await self.replicas.read(replica.id), found.record.boot == self.boot {
                self.state.withLock { $0.replica = found }
            }
            self.logger.warning(
                "this replica could not say that it is fenced; a kill waits for its lease",
                metadata: ["error.code": "\(error.code.rawValue)"]
            )
        }
    }

    /// Nobody needs to wait for this replica from now on.
    private func leave() async {
        let replica = self.state.withLock { state in
            state.leaseUntil = .distantPast
            return state.replica.take()
        }
        self.fence.inject(until: .distantPast)
        // Cut off, and not ended in order: requests may be under way that carry tokens.
        guard !Task.isCancelled else { return }
        do throws(StoreError) {
            if let replica { try await self.replicas.remove(replica.id) }
            self.state.withLock { $0.hasLeft = true }
        } catch {
            self.logger.warning(
                "this replica stays listed: others find out that it has ended by its lock, or forget it",
                metadata: ["error.code": "\(error.code.rawValue)"]
            )
        }
    }

    /// It has ended, and is not in the list of those whom a kill waits for.
    package var hasLeft: Bool { self.state.withLock { $0.hasLeft } }
}

extension KillSwitch.State {
    /// Takes entries that stand behind those there are.
    ///
    /// - Parameter draining: how many requests with dead tokens were left to end.
    /// - Returns: the kills among them.
    mutating func take(_ entries: [KillEntry], draining: Int) -> [KillSwitch.Kill] {
        var epochs = self.epochs
        var kills: [KillSwitch.Kill] = []
        for entry in entries {
            let wasKilled = epochs.holds(entry.scope)
            epochs.fold(entry)
            guard entry.kind == .kill else { continue }
            let before = self.orders.first { $0.entry.id == entry.id }?.draining ?? 0
            kills.append(
                KillSwitch.Kill(
                    epoch: epochs.last,
                    entry: entry,
                    wasKilled: wasKilled,
                    draining: entry.streams == .drain ? max(before, draining) : 0,
                    isEnded: self.ended.contains(epochs.last)
                )
            )
        }
        self.entries += entries
        self.kills += kills
        return kills
    }
}

extension Epoch {
    fileprivate func advanced(by count: Int) -> Epoch { Epoch(self.rawValue + UInt64(count)) }
}
