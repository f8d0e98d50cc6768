internal import Synchronization
package import TokenModel
internal import TokenStorage

/// What operators are shown.
extension KillSwitch {
    /// All kills, the last first; where the store is away, what this process knows of them.
    package func reports() async throws(KillSwitchError) -> [KillReport] {
        let (kills, orders) = self.state.withLock { ($0.kills, $0.orders) }
        var reports = orders.reversed().map(self.report(on:))
        var isAway = false
        for kill in kills.reversed() {
            if !isAway, let report = try? await self.report(on: kill.epoch, kill.entry) {
                reports.append(report)
                continue
            }
            // One failure is enough: each takes its time.
            isAway = true
            var report = self.knownReport(on: kill.epoch, kill.entry)
            report.store = .unreachable
            reports.append(report)
        }
        return reports
    }

    /// One kill.
    package func report(on id: KillID) async throws(KillSwitchError) -> KillReport {
        if let order = self.state.withLock({ $0.orders.first { $0.entry.id == id } }) { return self.report(on: order) }
        guard let kill = self.state.withLock({ $0.kills.first { $0.entry.id == id } }) else {
            throw KillSwitchError(.noSuchKill, "no kill has that id; martlet status shows those there are")
        }
        return try await self.report(on: kill.epoch, kill.entry)
    }

    func report(on epoch: Epoch, _ entry: KillEntry) async throws(KillSwitchError) -> KillReport {
        var report = self.knownReport(on: epoch, entry)
        do throws(StoreError) {
            if let end = try await self.end(of: epoch) {
                report.state = .complete
                report.replicas = end.replicas
                report.draining = end.draining
                report.completedAt = end.completedAt
            }
            report.tokens = try await self.revoker.tokens(of: epoch, entry.scope, self.epochs)
        } catch {
            throw KillSwitchError(error)
        }
        return report
    }

    /// What this process knows by itself.
    func knownReport(on epoch: Epoch, _ entry: KillEntry) -> KillReport {
        let now = self.timepiece.now
        let kill = self.state.withLock { $0.kills.first { $0.epoch == epoch } }
        let replicas = kill?.watch?.replicas ?? []
        return KillReport(
            id: entry.id,
            scope: entry.scope,
            reason: entry.reason,
            streams: entry.streams,
            epoch: epoch,
            state: kill?.isEnded == true ? .complete : .pending,
            wasKilled: kill?.wasKilled ?? false,
            replicas: replicas.map { replica in
                KillReport.Replica(
                    name: replica.name,
                    state: replica.state,
                    until: replica.until.map { now.wall.advanced(by: now.boot.duration(to: $0)) }
                )
            },
            draining: kill?.draining ?? 0,
            startedAt: entry.at
        )
    }

    /// The replicas there are now.
    package func listReplicas() async throws(KillSwitchError) -> [ReplicaVault.Entry] {
        try await self.replicaListing().entries
    }

    /// As ``listReplicas()``, with those whose record does not open.
    package func replicaListing() async throws(KillSwitchError) -> ReplicaVault.Listing {
        do throws(StoreError) { return try await self.replicas.list() } catch { throw KillSwitchError(error) }
    }

    /// Scopes that are killed now.
    package var killedScopes: Set<KillScope> { self.epochs.killed }
}
