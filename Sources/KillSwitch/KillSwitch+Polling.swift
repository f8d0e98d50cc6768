internal import Logging
internal import Synchronization
internal import TokenModel
package import TokenStorage

/// Keeping up with the log.
extension KillSwitch {
    /// Joins the replicas, reads the whole log, and has the first lease. Call it once, before anything is served.
    package func start() async throws(StoreError) {
        try await self.pollOnce()
    }

    /// Keeps the lease, sees kills through and revokes; ends after ``stop()``, and takes the replica out.
    package func run() async {
        await withDiscardingTaskGroup { tasks in
            tasks.addTask { await self.ringNowAndThen() }
            tasks.addTask { await self.followHints() }
            tasks.addTask { await self.sweepNowAndThen() }
            tasks.addTask { await self.revokeNowAndThen() }
            tasks.addTask { await self.seeThrough() }
            for await _ in self.bell { await self.answerPolls() }
            tasks.cancelAll()
        }
        await self.leave()
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
        for one in asking { one.resume(returning: result) }
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
    func poll() async throws(StoreError) {
        let result: Result<Void, StoreError> = await withCheckedContinuation { continuation in
            let isStopped = self.state.withLock { state in
                guard !state.isStopped else { return true }
                state.asking.append(continuation)
                return false
            }
            if isStopped {
                continuation.resume(returning: .failure(StoreError(.unreachable, "the process stops")))
            } else {
                self.ring.yield()
            }
        }
        try result.get()
    }

    private func ringNowAndThen() async {
        while !Task.isCancelled {
            await self.timepiece.rest(until: self.timepiece.now.boot.advanced(by: min(self.lease / 3, .seconds(3))))
            self.ring.yield()
        }
    }

    private func followHints() async {
        for await key in self.records.store.changes() {
            guard !Task.isCancelled else { return }
            if RecordKey.Prefix.kills.contains(key) { self.ring.yield() }
        }
    }

    private func pollOnce() async throws(StoreError) {
        try await self.join()
        let sentAt = self.timepiece.now.boot
        let entries = try await self.log.entries(behind: self.epochs.last)
        for entry in entries { await self.take(entry) }
        let leaseUntil = sentAt.advanced(by: self.lease - self.lease / 100)
        self.fence.inject(until: leaseUntil)
        let hadLapsed = self.state.withLock { state in
            state.leaseUntil = leaseUntil
            defer { state.hasComplained = false }
            return state.hasComplained
        }
        if hadLapsed { self.logger.notice("the kill log can be read again, and tokens are used again") }
        await self.acknowledge()
    }

    /// Sees to it that this replica is among those whom a kill waits for: before the read that gives it a lease.
    private func join() async throws(StoreError) {
        if let known = self.state.withLock({ $0.replica }) {
            if let found = try await self.replicas.read(known.id), !found.record.isExpelled {
                // Sealed anew, perhaps.
                self.state.withLock { $0.replica = found }
                return
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
    }

    /// Fences this process against one entry.
    private func take(_ entry: KillEntry) async {
        var epochs = self.epochs
        epochs.fold(entry)
        // Only a kill ends anything: what another was told to let end still may.
        let draining = await self.fence.fence(epochs, entry.killsNothing ? .drain : entry.streams)
        if case .account(let account) = entry.scope, entry.kind == .replaced { await self.fence.replaced(account) }
        self.state.withLock { state in
            state.epochs = epochs
            guard entry.kind == .kill else { return }
            state.kills.append(Kill(epoch: epochs.last, entry: entry, draining: draining))
        }
        guard entry.kind == .kill else { return }
        self.logger.notice(
            "tokens are killed",
            metadata: ["kill.id": "\(entry.id)", "kill.epoch": "\(epochs.last)", "kill.scope": "\(entry.scope.text)"]
        )
        self.ringForSweep.yield()
        self.newlyBegun.yield(epochs.last)
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
        if let replica { try? await self.replicas.remove(replica.id) }
    }
}
