internal import KillSwitch
internal import Logging
internal import Simulation
internal import Synchronization
internal import TestKit
internal import TokenModel
internal import TokenRefresh
internal import TokenStorage

/// Replicas of the real engine and kill switch over one store, a provider that detects reuse, callers and an operator,
/// in simulated time, under faults that a seed decides.
///
/// ```
///   callers ─▶ SimulatedProxy ─▶ RefreshEngine ─▶ ProviderConnection ─▶ SimulatedProvider
///   operator ─▶ KillSwitch ──────────┴──────────▶ StoreConnection ────▶ FaultyTokenStore
/// ```
///
/// A run has a time with faults and one without. In both ``Ledger`` checks what happens; at the end every account that
/// the provider still honours must be usable.
package final class SimulatedCluster: Sendable {
    package let seed: UInt64
    package let weather: Weather
    package let ledger: Ledger
    let mutation: Mutation?
    let simulation: Simulation
    let chance: Chance
    let network: Network
    let provider: SimulatedProvider
    let store: FaultyTokenStore
    /// The records past all faults.
    let records: SealedRecords
    let hosts: [SimulatedHost]
    let logger = Logger(label: "cluster") { _ in SwiftLogNoOpLogHandler() }
    let named = ["alice", "bob"].map { AccountID($0) }
    let family: AccountFamily
    let end = RunEnd()
    private let state = Mutex<[SimulatedReplica]>([])

    /// How long there are faults, and how long the replicas then have to get over them.
    static let foul = Duration.seconds(90)
    static let fair = Duration.seconds(90)

    /// - Parameters:
    ///   - weather: `nil`: drawn from the seed.
    ///   - mutation: a rule that is left out.
    package init(seed: UInt64, weather: Weather? = nil, without mutation: Mutation? = nil) {
        let chance = Chance(seed: seed ^ 0x5EED)
        let weather = weather ?? Weather(chance)
        let simulation = Simulation("a cluster", seed: seed)
        self.seed = seed
        self.weather = weather
        self.mutation = mutation
        self.simulation = simulation
        self.chance = chance
        self.ledger = Ledger(simulation)
        self.network = Network(simulation, chance)
        self.provider = SimulatedProvider(simulation, self.ledger, weather)
        self.store = FaultyTokenStore(weather.store.guarantees)
        self.records = SealedRecords(store: self.store, keyRing: Self.keyRing, storeID: StoreID(rawValue: "store"))
        guard let family = AccountFamily(pattern: "customer-*") else { preconditionFailure("no family") }
        self.family = family
        let slow: Int64 = mutation == .leaseFromTheEnd || mutation == .claimsCountFromTheAnswer ? -400_000 : 0
        self.hosts = (0..<(weather.store == .sqlite ? 1 : Self.replicaCount)).map { index in
            let drift = index == 0 ? slow : 0
            let range = Int(weather.drift)
            return SimulatedHost(
                SimulatedClock(on: simulation, drift: drift + Int64(chance.number(below: 2 * range + 1) - range))
            )
        }
    }

    private static let keyRing = KeyRing(current: .random())
    static let replicaCount = 3

    var vault: AccountVault { AccountVault(self.records) }
    var accounts: [AccountID] { self.named + (1...3).map { AccountID("customer-\($0)") } }
    var replicas: [SimulatedReplica] { self.state.withLock { $0 } }

    /// A replica that serves; `nil` if none does.
    var someReplica: SimulatedReplica? {
        let serving = self.replicas.filter { $0.isServing && !$0.process.isStopped }
        return serving.isEmpty ? nil : serving[self.chance.number(below: serving.count)]
    }

    /// Runs the seed to its end, or to its first violation.
    package func run() async throws {
        try await self.simulation.run { try await self.live() }
    }

    private func live() async throws {
        self.provider.know { self.isKnown($0) }
        for account in self.accounts { try await self.sow(account) }
        for index in 0..<Self.replicaCount { self.launch(index) }
        try await withThrowingTaskGroup { people in
            people.addTask { await self.makeTrouble() }
            people.addTask { await self.operate() }
            people.addTask { await self.watchKills() }
            for account in self.accounts { people.addTask { await self.call(account) } }
            people.addTask { try await self.judge() }
            // The judge is the last who has something to do.
            for try await _ in people where self.hasEnded { people.cancelAll() }
        }
        for replica in self.replicas { self.kill(replica) }
    }

    // MARK: - Replicas

    /// Starts a replica in the place of that number.
    func launch(_ index: Int) {
        let number = self.state.withLock { $0.count }
        let name = "r\(index)\(number < Self.replicaCount ? "" : ".\(number)")"
        let replica = SimulatedReplica(named: name, on: self.hosts[index % self.hosts.count], in: self)
        self.state.withLock { $0.append(replica) }
        replica.start()
    }

    /// Ends a replica's process at once.
    func kill(_ replica: SimulatedReplica) {
        replica.process.end()
        replica.clear()
        self.provider.ended(replica.process)
    }

    // MARK: - What is known

    /// The record of an account in the store.
    func record(of account: AccountID) -> AccountRecord? {
        let stored = self.store.history.record(.account(account.rawValue))
        return stored.flatMap { try? self.vault.open($0, of: account).record }
    }

    private func isKnown(_ refreshToken: String) -> Bool {
        self.hosts.contains { $0.keeps(refreshToken) }
            || self.accounts.contains { self.record(of: $0)?.tokens?.refreshToken?.text == refreshToken }
    }

    func isDurable(_ token: SimulatedProvider.AccessToken) -> Bool {
        self.ledger.wasDurable(token.text)
            || self.record(of: token.account)?.tokens?.accessToken?.text == token.text
            || self.hosts.contains { $0.keeps(accessToken: token.text) }
    }

    /// The story of a run that went wrong.
    package var account: String {
        let violations = self.ledger.violations.joined(separator: "\n")
        let story = self.ledger.story.joined(separator: "\n")
        let rule = self.mutation.map { ", without \($0.rawValue)" } ?? ""
        return "seed \(self.seed)\(rule) (\(self.weather)):\n\(violations)\n\nthe last events:\n\(story)"
    }
}
