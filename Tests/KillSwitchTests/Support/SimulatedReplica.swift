import KillSwitch
import Simulation
import TestKit
import TokenModel
import TokenStorage

/// One replica of a ``KillSimulation``: its machine, its store connection, and the state of its event loops.
final class SimulatedReplica {
    var machine: KillMachine
    let store: FaultyTokenStore
    let vault: ReplicaVault
    let log: KillLog
    let incarnation = IncarnationID.random()
    /// The epochs that the event loops were given.
    var fenced = KillEpochs()
    var leaseUntil = BootInstant.distantPast
    /// Until when the lease may last although no other replica knows of it, because a failover has lost the joining.
    var unlistedUntil = BootInstant.distantPast
    var isPolling = false
    var renews = false
    var pollStartedAt = Duration.zero
    var watched: Set<Epoch> = []

    init(_ index: Int, _ records: SealedRecords, _ store: FaultyTokenStore, _ mutation: KillSimulation.Mutation?) {
        self.store = store
        let own = SealedRecords(store: store, keys: records.keys, storeID: records.storeID)
        self.vault = ReplicaVault(own)
        self.log = KillLog(own)
        self.machine = KillMachine(
            incarnation: self.incarnation,
            name: "r\(index)",
            lease: KillSimulation.lease,
            StoreGuarantees(reach: mutation == .leaseByReading ? .host : .network, failover: .losesSuffix)
        )
    }
}
