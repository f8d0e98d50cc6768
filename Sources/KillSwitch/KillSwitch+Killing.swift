internal import Logging
internal import Synchronization
package import TokenModel
internal import TokenStorage

/// Kills and revivals, as operators order them.
extension KillSwitch {
    /// Kills the tokens of `scope`, and waits for up to `wait` until the kill is complete.
    ///
    /// This process stops using the tokens at once, whatever the store says. If the store does not take the kill, the
    /// kill is kept and written as soon as the store takes it.
    /// - Parameter requester: who orders it, and from where, for ``keptKills``.
    /// - Returns: the progress of the kill, without its tokens. A pending kill goes on by itself.
    package func kill(
        _ scope: KillScope,
        reason: String,
        streams: KillStreams,
        wait: Duration,
        by requester: String? = nil
    ) async throws(KillSwitchError) -> KillReport {
        let now = self.timepiece.now
        let deadline = now.boot.advanced(by: wait)
        let entry = KillEntry(.kill, scope, reason: reason, streams: streams, at: now.wall)
        let last = self.epochs.last
        var wasKept = false
        await self.raise(entry, by: requester)
        do throws(StoreError) {
            _ = try await self.log.append(entry, behind: last)
            try await self.poll()
            // The entry may have been lost again, or may be at a number that no process reads.
            if self.known.pendingKill(entry.id) != nil {
                throw StoreError(.unreachable, "the kill was written, and is not in the log that was read then")
            }
        } catch {
            guard error.code != .invalid else {
                await self.withdraw(entry)
                throw KillSwitchError(error)
            }
            wasKept = await self.keep(entry, error)
        }
        var report: KillReport
        switch await self.place(of: entry, until: deadline) {
        case .waits(let pendingKill):
            report = self.report(on: pendingKill)
        case .stands(let epoch):
            await self.watch(epoch, until: deadline)
            // A kill that is reported as complete must outlive this process.
            if self.host.storeEndsWithProcess { await self.copyEntries() }
            do throws(KillSwitchError) {
                // The tokens are left out: there may be thousands, each in a record of its own.
                report = try await self.outline(of: epoch, entry)
            } catch {
                // The kill is in the log, so this must not look like a failure.
                report = self.knownReport(on: epoch, entry)
                report.store = .unreachable
            }
        }
        report.wasKept = wasKept
        // The asker of a kept kill is reported later, along with the kill.
        if !wasKept { self.state.withLock { $0.askers[entry.id] = nil } }
        return report
    }

    private enum Place {
        case stands(Epoch)
        case waits(PendingKill)
    }

    /// Waits until this process has read the entry in the log.
    private func place(of entry: KillEntry, until deadline: BootInstant) async -> Place {
        while true {
            // Look up both under one lock: a pending kill may enter the log at any time.
            let (place, isStopped) = self.state.withLock { state in
                let epoch = state.machine.log.kill(entry.id)?.epoch
                let pendingKill = state.machine.log.pendingKill(entry.id)
                return (epoch.map(Place.stands) ?? .waits(pendingKill ?? PendingKill(entry: entry)), state.isStopped)
            }
            let now = self.timepiece.now.boot
            guard case .waits = place, now < deadline, !isStopped, !Task.isCancelled else { return place }
            await self.timepiece.rest(until: min(deadline, now.advanced(by: .milliseconds(500))))
            try? await self.poll()
        }
    }

    /// Allows new tokens of `scope` again. Killed tokens stay dead.
    @discardableResult
    package func revive(_ scope: KillScope, reason: String) async throws(KillSwitchError) -> KillRevival {
        let entry = KillEntry(.revive, scope, reason: reason, at: self.timepiece.now.wall)
        let epoch = try await self.append(reviving: entry)
        self.logger.notice(
            "tokens may come again",
            metadata: ["kill.scope": "\(scope.text)", "kill.epoch": .stringConvertible(epoch.rawValue)]
        )
        return KillRevival(epoch: epoch, lifted: self.lifted(by: epoch, scope))
    }

    /// Writes a revival directly behind the log as it was read, so that it lifts no unseen kill.
    private func append(reviving entry: KillEntry) async throws(KillSwitchError) -> Epoch {
        var seen: Epoch?
        while true {
            do throws(StoreError) { try await self.poll() } catch { throw KillSwitchError(error) }
            let contents = self.known.contents
            let last = contents.last { $0.scope == entry.scope && [.kill, .revive].contains($0.kind) }
            guard let last, last.entry.kind == .kill else {
                if self.waitingScopes.contains(entry.scope) {
                    throw KillSwitchError(
                        .storeLost,
                        "the kill of \(entry.scope.text) waits for the store; it can be revived when it stands there"
                    )
                }
                throw KillSwitchError(.notKilled, "\(entry.scope.text) is not killed; martlet status shows what is")
            }
            guard seen == nil || seen == last.epoch else {
                throw KillSwitchError(
                    .killed,
                    "\(entry.scope.text) was killed again meanwhile; look at that kill, then revive it"
                )
            }
            seen = last.epoch
            let epoch = contents.last.next
            do throws(StoreError) {
                guard try await self.write(entry, at: epoch) else { continue }
            } catch {
                throw KillSwitchError(error)
            }
            try? await self.poll()
            return epoch
        }
    }

    /// Writes an entry at the number `epoch`. Tries again where the store does not say at once whether it has the
    /// entry.
    func write(_ entry: KillEntry, at epoch: Epoch) async throws(StoreError) -> Bool {
        var tries = 0
        while true {
            do throws(StoreError) {
                guard try await self.log.place(entry, at: epoch) != .taken else { return false }
                // If that number is folded already, no process reads the entry there.
                return try await self.log.foldedUpTo().map { $0 < epoch } ?? true
            } catch {
                tries += 1
                guard error.code == .unreachable, tries < Self.mostTries else { throw error }
                await self.timepiece.rest(until: self.timepiece.now.boot.advanced(by: .milliseconds(200)))
            }
        }
    }

    /// The kills of `scope` since its last revival before `epoch`.
    private func lifted(by epoch: Epoch, _ scope: KillScope) -> [KillRevival.Kill] {
        var lifted: [KillRevival.Kill] = []
        for numbered in self.known.contents.numbered() where numbered.epoch < epoch && numbered.entry.scope == scope {
            switch numbered.entry.kind {
            case .revive: lifted = []
            case .kill: lifted.append(KillRevival.Kill(id: numbered.entry.id, epoch: numbered.epoch))
            case .replaced, .removed, .moved, .locked, .unlocked: break
            }
        }
        return lifted
    }

    static let mostTries = 5
}

// MARK: - Waiting

extension KillSwitch {
    /// Sees each kill through: also those of other replicas and of earlier runs, and those whose operator has stopped
    /// waiting.
    func seeThrough() async {
        await withDiscardingTaskGroup { tasks in
            for await epoch in self.begun {
                tasks.addTask {
                    // Usually the process that raised the kill sees it through within this time.
                    await self.timepiece.rest(until: self.timepiece.now.boot.advanced(by: .seconds(2)))
                    while !Task.isCancelled, self.known.kill(epoch)?.isEnded == false {
                        await self.watch(epoch, until: self.timepiece.now.boot.advanced(by: .seconds(60)))
                    }
                }
            }
            tasks.cancelAll()
        }
    }

    /// Waits until all replicas are fenced or `deadline` passes. If all are, records for good that the kill is
    /// complete.
    func watch(_ epoch: Epoch, until deadline: BootInstant) async {
        var pause = Duration.milliseconds(5)
        while true {
            do throws(StoreError) {
                if try await self.look(at: epoch) { return }
            } catch {
                self.logger.debug("a kill waits for the store", metadata: ["error.code": "\(error.code.rawValue)"])
            }
            // At the deadline it looks once more: this process may have been held up and missed what happened
            // meanwhile.
            let now = self.timepiece.now.boot
            guard !Task.isCancelled, now < deadline else { return }
            await self.timepiece.rest(until: min(deadline, now.advanced(by: pause)))
            pause = min(pause * 2, .milliseconds(250))
        }
    }

    /// Looks once at all replicas that the kill waits for.
    ///
    /// - Returns: whether the kill is complete.
    func look(at epoch: Epoch) async throws(StoreError) -> Bool {
        var action = self.state.withLock { $0.machine.beginWait(for: epoch) }
        while true {
            switch action {
            case .list(let id):
                // The listing comes after the raise. Silence is counted from after the listing.
                guard let version = try await self.log.version(of: id, at: epoch) else { return false }
                let listing = try await self.livingReplicas()
                let now = self.timepiece.now.boot
                action = self.state.withLock { $0.machine.didList(listing, behind: version, for: epoch, at: now) }
            case .read(let ids):
                try await self.read(ids, for: epoch)
                action = self.state.withLock { $0.machine.wait(for: epoch) }
            case .expel(let silent):
                for entry in silent { await self.expel(entry, for: epoch) }
                action = self.state.withLock { $0.machine.wait(for: epoch) }
                // Those still silent are tried at the next look. A replica that has written meanwhile is watched from
                // the start.
                if case .expel = action { return false }
            case .check(let id, let listed):
                guard let version = try await self.log.version(of: id, at: epoch) else { return false }
                guard version == listed || version == KillLog.foldedVersion else {
                    self.state.withLock { $0.machine.entryWasRewritten(epoch) }
                    return false
                }
                try await self.complete(epoch)
                return true
            case .lookForEnd:
                // Another replica may have seen the kill through.
                guard try await self.completion(of: epoch)?.end != nil else { return false }
                self.note(complete: epoch)
                return true
            case .nothing:
                return true
            }
        }
    }

    private func livingReplicas() async throws(StoreError) -> ReplicaVault.Listing {
        let there = try await self.replicas.list()
        var listing = ReplicaVault.Listing(entries: [], unreadable: there.unreadable)
        for entry in there.entries {
            if let entry = try await self.withoutDead(entry) { listing.entries.append(entry) }
        }
        return listing
    }

    private func read(_ ids: [ReplicaID], for epoch: Epoch) async throws(StoreError) {
        try await ids.readEach { id throws(StoreError) in
            // A record that does not open says nothing.
            guard let found = try await self.replicas.readIfOpen(id) else { return false }
            let entry = try await self.withoutDead(found.entry)
            // Noted at once, on top of what other tasks that wait for this kill have seen meanwhile.
            let now = self.timepiece.now.boot
            self.state.withLock { $0.machine.saw(entry, id, for: epoch, at: now) }
            return true
        } found: { _, _ in
        }
    }

    private func expel(_ entry: ReplicaVault.Entry, for epoch: Epoch) async {
        switch await self.replicas.expel(entry) {
        case .stands(let version):
            var record = entry.record
            record.isExpelled = true
            self.state.withLock { $0.machine.expelled(entry.id, for: epoch) }
            self.logger.notice("a silent replica is expelled", metadata: ["replica.name": "\(record.name)"])
            self.seeExpelled(ReplicaVault.Entry(id: entry.id, record: record, version: version))
        case .conflict(let found):
            let now = self.timepiece.now.boot
            self.state.withLock { $0.machine.saw(found, entry.id, for: epoch, at: now) }
        case .failed(let error):
            self.logger.debug(
                "a silent replica waits for the store",
                metadata: ["error.code": "\(error.code.rawValue)"]
            )
        }
    }

    /// Removes a replica whose process has ended for certain, since it sends nothing any more.
    func withoutDead(_ entry: ReplicaVault.Entry?) async throws(StoreError) -> ReplicaVault.Entry? {
        guard let entry, entry.record.incarnation != self.incarnation, await self.host.isDead(entry.record.incarnation)
        else { return entry }
        try await self.replicas.remove(entry.id)
        // It may have stored dead tokens, and have ended before it had them taken away.
        self.sweepAll()
        return nil
    }

    /// Records that a kill is complete, once and for all replicas.
    private func complete(_ epoch: Epoch) async throws(StoreError) {
        // A record that does not open counts too: it can't be written again, and every replica that the kill waited for
        // is done.
        guard try await self.completion(of: epoch) == nil else { return self.note(complete: epoch) }
        let kill = self.known.kill(epoch)
        if kill?.entry.kind == .moved {
            // Only a replica that goes there too knows the store.
            guard let move = self.move, kill?.entry.destination == move.target else { return }
            try await self.copyLog(to: move, until: epoch)
            try await move.commit()
        }
        let end = KillEnd(
            replicas: (kill?.watch?.replicas ?? []).map { KillReport.Replica(name: $0.name, state: $0.state) },
            draining: kill?.draining ?? 0,
            completedAt: self.timepiece.now.wall
        )
        // Another replica may have recorded it just now.
        try await self.ends.put(end, at: .killEnd(epoch.rawValue))
        self.note(complete: epoch)
    }

    private func note(complete epoch: Epoch) {
        var isNew = false
        self.state.withLock { state in
            state.machine.log.note(kill: epoch) { kill in
                isNew = !kill.isEnded
                kill.isEnded = true
            }
        }
        if isNew {
            self.announce(complete: epoch)
        }
    }

    /// The complete kills, from those records that open.
    func endedKills() async throws(StoreError) -> Set<Epoch> {
        var ended: Set<Epoch> = []
        try await self.ends.forEach(under: .killEnds) { key, _ in
            let digits = key.rawValue.dropFirst(RecordKey.Prefix.killEnds.rawValue.count)
            if let number = UInt64(digits) { ended.insert(Epoch(number)) }
        }
        return ended
    }

    private var ends: RecordVault<KillEnd> { RecordVault(self.records) }

    /// The record that a kill is complete, and its content.
    struct Completion {
        /// `nil` where the record does not open, so that its content is unknown.
        let end: KillEnd?
    }

    /// - Returns: `nil` where no replica has recorded it.
    func completion(of epoch: Epoch) async throws(StoreError) -> Completion? {
        do throws(StoreError) {
            return try await self.ends.read(.killEnd(epoch.rawValue)).map { Completion(end: $0.record) }
        } catch {
            guard error.code == .unreadable else { throw error }
            return Completion(end: nil)
        }
    }
}
