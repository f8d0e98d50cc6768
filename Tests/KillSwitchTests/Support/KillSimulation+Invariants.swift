import KillSwitch
import Simulation
import TokenModel
import TokenStorage

extension KillSimulation {
    /// I3, I4 and I6: each replica that may send tokens now applies every kill and lock that was reported complete.
    mutating func look() {
        let instant = self.instant
        for (index, replica) in self.replicas.enumerated() where instant < replica.leaseUntil {
            guard instant >= replica.unlistedUntil else { continue }
            let known = replica.machine.log.contents
            for (id, epoch) in self.complete where !self.lost.contains(id) {
                guard replica.fenced.last < epoch || !known.contains(id) else { continue }
                self.violations.append("r\(index) sends by \(replica.fenced.last), and \(id) at \(epoch) is complete")
            }
        }
    }

    /// Records the exceptions after a failover that lost commits: replicas need not know a complete kill that was
    /// lost, and a kill need not wait for a replica whose joining was lost, until that replica's lease is over.
    mutating func noteLostCommits() async {
        self.hasLost = true
        guard let log = try? await KillLog(self.records).contents(),
            let listing = try? await ReplicaVault(self.records).list()
        else { return self.violations.append("the store can't be read") }
        for id in self.complete.keys where !log.contains(id) { self.lost.insert(id) }
        let listed = Set(listing.entries.map(\.record.incarnation))
        for replica in self.replicas where !listed.contains(replica.incarnation) {
            replica.unlistedUntil = self.instant.advanced(by: Self.lease)
        }
    }

    mutating func checkFinalState() async {
        guard self.violations.isEmpty else { return }
        let log = (try? await KillLog(self.records).contents()) ?? KillLogContents()
        for replica in self.replicas where self.instant < replica.leaseUntil {
            // I2 for the log: the entries that a replica applies are in the store, or have been restored.
            let known = replica.machine.log.contents
            if log.last < known.last || !log.agrees(with: known) {
                self.violations.append("\(known.last) entries are gone by, of which the store has \(log.last)")
            }
        }
        guard !self.hasLost else { return }
        let living = Set(self.replicas.map(\.incarnation))
        for (id, incarnation) in self.ordered {
            let count = log.numbered().count { $0.entry.id == id }
            // An order that the store has not accepted ends with its process: the simulation has no directory that
            // would outlive it.
            let mustStand = self.placed.contains(id) || living.contains(incarnation)
            if count > 1 || count == 0 && mustStand { self.violations.append("the kill \(id) stands \(count) times") }
            if count == 1, self.complete[id] == nil { self.violations.append("the kill \(id) is never complete") }
        }
    }
}
