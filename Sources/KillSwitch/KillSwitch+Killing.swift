internal import Logging
internal import Synchronization
package import TokenModel
internal import TokenStorage

/// What operators do.
extension KillSwitch {
    /// Kills the tokens of `scope`, and waits for up to `wait` until that is complete.
    ///
    /// This process stops at once, whatever the store says. Where it does not take the kill that is kept, and written as
    /// soon as it does.
    /// - Parameter orderer: who orders it, and from where, for ``keptKills``.
    /// - Returns: how far it has come, without its tokens. A pending kill goes on by itself.
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
            // It may have been lost again, or stand where nobody looks.
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
            // What is called complete outlives this process.
            if self.host.isAllThatLasts { await self.copyEntries() }
            do throws(KillSwitchError) {
                // Without its tokens: there may be thousands, and each is in a record of its own.
                report = try await self.outline(of: epoch, entry)
            } catch {
                // The kill stands: that must not look like a failure.
                report = self.knownReport(on: epoch, entry)
                report.store = .unreachable
            }
        }
        report.wasKept = wasKept
        // Of one that was kept the asker is told with the kill.
        if !wasKept { self.state.withLock { $0.askers[entry.id] = nil } }
        return report
    }

    private enum Place {
        case stands(Epoch)
        case waits(PendingKill)
    }

    /// Waits for an entry to stand in the log, as this process has read it.
    private func place(of entry: KillEntry, until deadline: BootInstant) async -> Place {
        while true {
            // In one look: it may come to stand at any time.
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

    /// Lets new tokens of `scope` come again. What was killed stays dead.
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

    /// Writes a revival exactly behind the log as it was read, so that no kill is lifted which nobody has seen.
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

    /// Writes an entry as the one numbered `epoch`, also where the store does not say at once whether it has.
    private func write(_ entry: KillEntry, at epoch: Epoch) async throws(StoreError) -> Bool {
        var tries = 0
        while true {
            do throws(StoreError) {
                guard try await self.log.place(entry, at: epoch) != .taken else { return false }
                // Else it stands where nobody looks any more.
                return try await self.log.foldedUpTo().map { $0 < epoch } ?? true
            } catch {
                tries += 1
                guard error.code == .unreachable, tries < Self.mostTries else { throw error }
                await self.timepiece.rest(until: self.timepiece.now.boot.advanced(by: .milliseconds(200)))
            }
        }
    }

    /// The kills of `scope` since it was last revived before `epoch`.
    private func lifted(by epoch: Epoch, _ scope: KillScope) -> [KillRevival.Kill] {
        var lifted: [KillRevival.Kill] = []
        for numbered in self.known.contents.numbered() where numbered.epoch < epoch && numbered.entry.scope == scope {
            switch numbered.entry.kind {
            case .revive: lifted = []
            case .kill: lifted.append(KillRevival.Kill(id: numbered.entry.id, epoch: numbered.epoch))
            case .replaced, .removed: break
            }
        }
        return lifted
    }

    static let mostTries = 5
}

// MARK: - Waiting

extension KillSwitch {
    /// Sees each kill through, also those of other replicas and of before, and those whose operator waits no longer.
    func seeThrough() async {
        await withDiscardingTaskGroup { tasks in
            for await epoch in self.begun {
                tasks.addTask {
                    // Whoever raised it does it himself, as a rule.
                    await self.timepiece.rest(until: self.timepiece.now.boot.advanced(by: .seconds(2)))
                    while !Task.isCancelled, self.known.kill(epoch)?.isEnded == false {
                        await self.watch(epoch, until: self.timepiece.now.boot.advanced(by: .seconds(60)))
                    }
                }
            }
            tasks.cancelAll()
        }
    }

    /// Waits for the replicas until all are fenced or `deadline`; then says for good that the kill is complete.
    func watch(_ epoch: Epoch, until deadline: BootInstant) async {
        var pause = Duration.milliseconds(5)
        while true {
            do throws(StoreError) {
                if try await self.look(at: epoch) { return }
            } catch {
                self.logger.debug("a kill waits for the store", metadata: ["error.code": "\(error.code.rawValue)"])
            }
            // Past the deadline there is one more look: who was held up himself has not seen what happened meanwhile.
            let now = self.timepiece.now.boot
            guard !Task.isCancelled, now < deadline else { return }
            await self.timepiece.rest(until: min(deadline, now.advanced(by: pause)))
            pause = min(pause * 2, .milliseconds(250))
        }
    }

    /// One look at all who are waited for.
    ///
    /// - Returns: whether the kill is complete.
    private func look(at epoch: Epoch) async throws(StoreError) -> Bool {
        var action = self.state.withLock { $0.machine.beginWait(for: epoch) }
        while true {
            switch action {
            case .list(let id):
                // After the raise, and counted from after the listing.
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
                // Whoever wrote meanwhile is watched anew.
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
                // Another may have seen it through.
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
            // One that does not open has said nothing.
            guard let found = try await self.replicas.readIfOpen(id) else { return false }
            let entry = try await self.withoutDead(found.entry)
            // At once, and into what others who wait for this kill may have seen meanwhile.
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

    /// Takes a replica out whose process has ended for certain: it sends nothing any more.
    func withoutDead(_ entry: ReplicaVault.Entry?) async throws(StoreError) -> ReplicaVault.Entry? {
        guard let entry, entry.record.incarnation != self.incarnation, await self.host.isDead(entry.record.incarnation)
        else { return entry }
        try await self.replicas.remove(entry.id)
        return nil
    }

    /// Says that a kill is complete, once and for all replicas.
    private func complete(_ epoch: Epoch) async throws(StoreError) {
        // Also one that does not open: nobody can write it again, and all who were waited for have been.
        guard try await self.completion(of: epoch) == nil else { return self.note(complete: epoch) }
        let kill = self.known.kill(epoch)
        let end = KillEnd(
            replicas: (kill?.watch?.replicas ?? []).map { KillReport.Replica(name: $0.name, state: $0.state) },
            draining: kill?.draining ?? 0,
            completedAt: self.timepiece.now.wall
        )
        // Another may have said it just now.
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
            self.logger.notice("a kill is complete", metadata: ["kill.epoch": .stringConvertible(epoch.rawValue)])
        }
    }

    /// The kills that are complete, by what was kept of them and opens.
    func endedKills() async throws(StoreError) -> Set<Epoch> {
        var ended: Set<Epoch> = []
        try await self.ends.forEach(under: .killEnds) { key, _ in
            let digits = key.rawValue.dropFirst(RecordKey.Prefix.killEnds.rawValue.count)
            if let number = UInt64(digits) { ended.insert(Epoch(number)) }
        }
        return ended
    }

    private var ends: RecordVault<KillEnd> { RecordVault(self.records) }

    /// That a replica has said that a kill is complete, and what it has said of it.
    struct Completion {
        /// `nil` where that does not open, so that nobody knows what was said.
        let end: KillEnd?
    }

    /// - Returns: `nil` where nobody has said so.
    func completion(of epoch: Epoch) async throws(StoreError) -> Completion? {
        do throws(StoreError) {
            return try await self.ends.read(.killEnd(epoch.rawValue)).map { Completion(end: $0.record) }
        } catch {
            guard error.code == .unreadable else { throw error }
            return Completion(end: nil)
        }
    }
}
