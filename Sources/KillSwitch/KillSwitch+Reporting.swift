internal import Synchronization
package import TokenModel
internal import TokenStorage

/// Reports for operators.
extension KillSwitch {
    /// All kills, the newest first; where the store can't be reached, those that this process knows.
    package func reports() async throws(KillSwitchError) -> [KillReport] { await self.listing().reports }

    /// All kills, and whether the list is complete: what an unreachable store has is unknown.
    package func listing() async -> KillListing {
        let isWhole = await self.isReadToItsEnd()
        let kills = self.known.kills.filter { $0.entry.kind == .kill }
        let pendingKills = self.known.pendingKills
        var reports = pendingKills.reversed().map(self.report(on:))
        var isAway = !isWhole
        for kill in kills.reversed() {
            if !isAway, let report = try? await self.report(on: kill.epoch, kill.entry) {
                reports.append(report)
                continue
            }
            // After one failure no other report is read: each failure takes its time.
            isAway = true
            var report = self.knownReport(on: kill.epoch, kill.entry)
            report.store = .unreachable
            reports.append(report)
        }
        return KillListing(reports: reports, isWhole: isWhole)
    }

    /// Whether this process has applied the whole log. Polls first if it is behind.
    private func isReadToItsEnd() async -> Bool {
        do throws(StoreError) {
            if try await self.log.entry(self.epochs.last.next) != nil { try await self.poll() }
            return true
        } catch {
            return false
        }
    }

    /// The report on one kill.
    package func report(on id: KillID) async throws(KillSwitchError) -> KillReport {
        if let pendingKill = self.known.pendingKill(id) { return self.report(on: pendingKill) }
        let kill = try await self.kill(of: id)
        return try await self.report(on: kill.epoch, kill.entry)
    }

    /// A kill that is in the log. If this process does not know it, it reads what is new first.
    func kill(of id: KillID) async throws(KillSwitchError) -> FencedLog.Kill {
        if let known = self.knownKill(id) { return known }
        guard await self.isReadToItsEnd() else {
            throw KillSwitchError(StoreError(.unreachable, "no kill with that id is known here"))
        }
        guard let kill = self.knownKill(id) else {
            throw KillSwitchError(.noSuchKill, "no kill has that id; martlet kills shows those there are")
        }
        return kill
    }

    private func knownKill(_ id: KillID) -> FencedLog.Kill? {
        self.known.kill(id).flatMap { $0.entry.kind == .kill ? $0 : nil }
    }

    func report(on epoch: Epoch, _ entry: KillEntry) async throws(KillSwitchError) -> KillReport {
        var report = try await self.outline(of: epoch, entry)
        do throws(StoreError) {
            report.tokens = try await self.revoker.tokens(of: epoch)

        } catch {
            throw KillSwitchError(error)
        }
        return report
    }

    /// A report without its tokens. Its cost does not grow with the number of tokens.
    func outline(of epoch: Epoch, _ entry: KillEntry) async throws(KillSwitchError) -> KillReport {
        var report = self.knownReport(on: epoch, entry)
        do throws(StoreError) {
            if let end = try await self.completion(of: epoch)?.end {
                report.state = .complete
                report.replicas = end.replicas
                report.draining = end.draining
                report.completedAt = end.completedAt
            } else if report.state == .pending, report.replicas.isEmpty {
                // This process has not looked yet: after a restart that takes a moment.
                report.replicas = self.replicas(of: try await self.look(epoch))
            }
        } catch {
            throw KillSwitchError(error)
        }
        return report
    }

    /// The report from what this process knows without a read.
    func knownReport(on epoch: Epoch, _ entry: KillEntry) -> KillReport {
        let known = self.known
        let kill = known.kill(epoch)
        let later = known.contents.numbered(behind: epoch).lazy.map(\.entry)
        let revivedAt = later.first { $0.kind == .revive && $0.scope == entry.scope }?.at
        return KillReport(
            id: entry.id,
            scope: entry.scope,
            reason: entry.reason,
            streams: entry.streams,
            epoch: epoch,
            state: kill?.isEnded == true ? .complete : .pending,
            wasKilled: kill?.wasKilled ?? false,
            replicas: self.replicas(of: kill?.watch),
            draining: kill?.draining ?? 0,
            startedAt: entry.at,
            revivedAt: revivedAt
        )
    }

    /// The replicas to wait for, from a new listing.
    private func look(_ epoch: Epoch) async throws(StoreError) -> KillWatch {
        let now = self.timepiece.now.boot
        let there = try await self.replicas.list()
        return KillWatch(epoch, there, reach: self.records.store.guarantees.reach, now: now)
    }

    private func replicas(of watch: KillWatch?) -> [KillReport.Replica] {
        let now = self.timepiece.now
        return (watch?.replicas ?? []).map { replica in
            KillReport.Replica(
                name: replica.name,
                state: replica.state,
                until: replica.until.map { now.wall.advanced(by: now.boot.duration(to: $0)) }
            )
        }
    }

    /// The replicas that are listed now.
    package func listReplicas() async throws(KillSwitchError) -> [ReplicaVault.Entry] {
        try await self.replicaListing().entries
    }

    /// The listed replicas, and the IDs of those whose record does not open.
    package func replicaListing() async throws(KillSwitchError) -> ReplicaVault.Listing {
        do throws(StoreError) { return try await self.replicas.list() } catch { throw KillSwitchError(error) }
    }

    /// The scopes that are killed now.
    package var killedScopes: Set<KillScope> { self.epochs.killed }
}
