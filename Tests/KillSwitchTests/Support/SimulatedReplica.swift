import KillSwitch
import TestKit
import TokenModel
import TokenStorage

/// One replica of a ``KillSimulation``: its machine, its way to the store, and what its event loops were told.
final class SimulatedReplica {
    var machine: KillMachine
    let store: FaultyTokenStore
    let vault: ReplicaVault
    let log: KillLog
    let incarnation = IncarnationID.random()
    /// As its event loops were told.
    var fenced = KillEpochs()
    var leaseUntil = BootInstant.distantPast
    /// A failover has lost its joining: its lease may go on until then without anybody who knows of it.
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
