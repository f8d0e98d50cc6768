import Approvals
import Simulation
import Synchronization
import TestKit
import Testing
import TokenModel
import TokenStorage

let alice = AccountID("alice")
let bob = AccountID("bob")
let acme = ProviderID("acme")

extension ApprovalPolicy {
    /// Approvals of 15 min, for `accounts`.
    static func of(_ accounts: AccountID..., wait: Duration = .seconds(30)) -> ApprovalPolicy {
        ApprovalPolicy(duration: .seconds(900), wait: wait) { accounts.contains($0) }
    }
}

/// One store and one kill log, shared by the replicas of a test.
struct ApprovalFixture: Sendable {
    let clock = Simulation.running
    let log = RecordingLog()
    private let store: FaultyTokenStore
    private let records: SealedRecords

    init(hints: Bool = true) {
        self.store = FaultyTokenStore(hints: hints)
        self.records = SealedRecords(store: self.store, keyRing: KeyRing(current: .random()), storeID: .random())
    }

    /// Runs replicas until `body` has ended. Each follows the approvals by then. Accounts are `alice` and `bob`, of `acme`.
    func run(
        _ count: Int = 1,
        _ policy: ApprovalPolicy? = .of(alice),
        _ body: ([Replica]) async throws -> Void
    ) async throws {
        let replicas = (0..<count).map { _ in self.replica(policy) }
        for replica in replicas { await replica.service.start() }
        try await withThrowingDiscardingTaskGroup { tasks in
            for replica in replicas { tasks.addTask { await replica.service.run() } }
            defer { for replica in replicas { replica.service.stop() } }
            await self.clock.settle()
            try await body(replicas)
        }
    }

    func replica(_ policy: ApprovalPolicy? = .of(alice)) -> Replica {
        let store = self.store.connect()
        let (clock, kills, notes) = (self.clock, Kills(), Notes())
        let service = ApprovalService(
            SealedRecords(store: store, keys: self.records.keys, storeID: self.records.storeID),
            policy: policy,
            kills: { kills.known },
            provider: { [alice, bob].contains($0) ? acme : nil },
            timepiece: clock.timepiece,
            logger: self.log.logger,
            onChange: { notes.add("\($0) \(max(clock.now.duration(to: $1).components.seconds, 0)) s") },
            onWaiting: { notes.add("\($0) waits") }
        )
        return Replica(service: service, store: store, kills: kills, notes: notes)
    }
}

/// One process of a gateway.
struct Replica: Sendable {
    let service: ApprovalService
    /// The replica's own connection to the store.
    let store: FaultyTokenStore
    let kills: Kills
    /// What it announced: `alice 900 s`, the rest of an approval, and `alice waits`.
    let notes: Notes

    @discardableResult
    func approve(_ account: AccountID = alice) async throws -> Approval {
        try await self.service.approve(account, by: "anne")
    }

    /// Reads a kill of `scope` from the log.
    func kill(_ scope: KillScope) { self.service.apply(self.kills.raise(scope)) }

    /// How often it has read the approvals.
    var readings: Int { self.store.count(of: .records, at: RecordKey(rawValue: RecordKey.Prefix.approvals.rawValue)) }
}

/// The kill log as a replica knows it.
final class Kills: Sendable {
    private let epochs = Mutex(KillEpochs())

    var known: KillEpochs { self.epochs.withLock { $0 } }

    /// - Returns: the log with another kill.
    func raise(_ scope: KillScope, holds: Bool = false) -> KillEpochs {
        self.epochs.withLock { epochs in
            epochs.raise(scope, at: epochs.last.next, holds: holds)
            return epochs
        }
    }
}

/// Lines in their order.
final class Notes: Sendable {
    private let lines = Mutex<[String]>([])

    var all: [String] { self.lines.withLock { $0 } }

    func add(_ line: String) { self.lines.withLock { $0.append(line) } }
}
