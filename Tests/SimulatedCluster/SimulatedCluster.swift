internal import KillSwitch
internal import Logging
package import Simulation
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
    /// The store, and the one that a run with a move goes to, or that mirrors it.
    let stores: [FaultyTokenStore]
    /// The stores whose records count.
    var countingStores: [FaultyTokenStore] { self.weather.mirrors ? [self.stores[0]] : self.stores }
    let keys: GivenKeyRing
    let hosts: [SimulatedHost]
    let logger = Logger(label: "cluster") { _ in SwiftLogNoOpLogHandler() }
    let named = ["alice", "bob"].map { AccountID($0) }
    let family: AccountFamily
    let end = Answer(false)
    /// Whether callers send no more requests.
    let callersRest = Answer(false)
    private let state = Mutex(State())

    private struct State {
        var replicas: [SimulatedReplica] = []
        /// The number of processes that were started.
        var started = 0
        /// Whether a process that starts is configured to move to the second store.
        var moves = false
        /// The members of the family that got a grant during the run.
        var newcomers: [AccountID] = []
        /// How many commits each store has had in each of the last seconds.
        var lengths: [[Int]] = [[], []]
        /// The records of accounts that were opened, by account and version.
        var opened: [AccountID: [Version: AccountRecord]] = [:]
    }

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
        self.stores = (0..<2).map { _ in FaultyTokenStore(weather.store.guarantees) }
        self.keys = GivenKeyRing(Self.keyRing, name: "the cluster")
        guard let family = AccountFamily(pattern: "customer-*") else { preconditionFailure("no family") }
        self.family = family
        let slow: Int64 = mutation == .leaseFromTheEnd || mutation == .claimsCountFromTheAnswer ? -800_000 : 0
        self.hosts = (0..<(weather.store == .sqlite ? 1 : Self.replicaCount)).map { index in
            let drift = index == 0 ? slow : 0
            let range = Int(weather.drift)
            return SimulatedHost(
                SimulatedClock(on: simulation, drift: drift + Int64(chance.number(below: 2 * range + 1) - range))
            )
        }
    }

    private static let keyRing = KeyRing(current: .random())
    private let storeIDBox = Mutex(StoreID(rawValue: ""))
    private var storeID: StoreID { self.storeIDBox.withLock { $0 } }
    static let replicaCount = 3

    /// The accounts of which each has a grant at the start.
    var firstAccounts: [AccountID] { self.named + self.members[..<3] }
    /// The members of the family. The last three get a grant during the run, of which nobody uses two.
    let members = (1...6).map { AccountID("customer-\($0)") }
    /// The accounts of which each has had a grant.
    var accounts: [AccountID] { self.firstAccounts + self.state.withLock { $0.newcomers } }
    func welcomed(_ account: AccountID) { self.state.withLock { $0.newcomers.append(account) } }
    var replicas: [SimulatedReplica] { self.state.withLock { $0.replicas } }

    /// Opens what is stored, whichever store it is in.
    var vault: AccountVault { AccountVault(self.records(in: self.stores[0])) }

    /// The records of a store past all faults.
    func records(in store: FaultyTokenStore) -> SealedRecords {
        SealedRecords(store: store, keyRing: Self.keyRing, storeID: self.storeID)
    }

    /// A replica that serves, and its parts; `nil` if none does.
    var someReplica: (replica: SimulatedReplica, parts: SimulatedReplica.Open)? {
        let serving = self.replicas.compactMap { replica in
            replica.process.isStopped ? nil : replica.parts.map { (replica, $0) }
        }
        return serving.isEmpty ? nil : serving[self.chance.number(below: serving.count)]
    }

    /// Runs the seed to its end, or to its first violation.
    package func run() async throws {
        try await self.simulation.run { try await self.live() }
    }

    private func live() async throws {
        // Unowned: thousands of clusters may be made one after the other.
        self.provider.know { [unowned self] in
            self.isKnown($0)
        } storedToken: { [unowned self] in
            self.record(of: $0)?.tokens?.refreshToken?.text
        }
        let opened = try await OpenedStore.open(self.stores[0], keys: self.keys)
        self.storeIDBox.withLock { $0 = opened.storeID }
        for account in self.accounts { try await self.sow(account) }
        self.noteLengths()
        for index in 0..<Self.replicaCount { self.launch(index, SimulatedReplica.Start()) }
        await withDiscardingTaskGroup { people in
            people.addTask { await self.makeTrouble() }
            people.addTask { await self.operate() }
            people.addTask { await self.watchKills() }
            people.addTask { await self.keepBooks() }
            people.addTask { await self.restartStrays() }
            people.addTask { await self.replicate() }
            people.addTask { await self.welcomeMembers() }
            for account in self.firstAccounts + self.members[3...3] { people.addTask { await self.call(account) } }
            people.addTask { await self.judge() }
        }
        for replica in self.replicas { self.kill(replica) }
    }

    // MARK: - Replicas

    /// Starts a process in the place of that number.
    func launch(_ index: Int, _ start: SimulatedReplica.Start) {
        let (number, moves) = self.state.withLock { state in
            defer { state.started += 1 }
            return (state.started, state.moves)
        }
        var start = start
        start.moves = moves
        let name = "r\(index)\(number < Self.replicaCount ? "" : ".\(number)")"
        let replica = SimulatedReplica(named: name, on: self.hosts[index % self.hosts.count], in: self, start)
        self.state.withLock { $0.replicas.append(replica) }
        replica.run()
    }

    /// Ends a replica's process at once.
    func kill(_ replica: SimulatedReplica) {
        replica.process.end()
        replica.clear()
        self.provider.ended(replica.process)
        self.state.withLock { $0.replicas.removeAll { $0 === replica } }
    }

    /// Ends a replica's process, and starts another one in its place after a while.
    func replace(_ replica: SimulatedReplica, _ start: SimulatedReplica.Start = SimulatedReplica.Start()) {
        self.kill(replica)
        let index = Int(String(replica.name.dropFirst().prefix(1))) ?? 0
        self.later(self.network.way(upTo: .seconds(3))) { if !self.hasEnded { self.launch(index, start) } }
    }

    /// Has every process that starts from now on move to the second store.
    func beginMove() { self.state.withLock { $0.moves = true } }

    // MARK: - Replication

    private static let longestLag = 5

    /// Has the standby of each store follow it, by a few seconds at most.
    private func replicate() async {
        while !self.hasEnded {
            await self.network.pause(.seconds(1))
            self.noteLengths()
        }
    }

    private func noteLengths() {
        self.state.withLock { state in
            for (index, store) in self.stores.enumerated() {
                state.lengths[index] = state.lengths[index].suffix(Self.longestLag - 1) + [store.history.count]
            }
        }
    }

    /// How many commits the standby of a store may lack.
    func unreplicated(_ index: Int) -> Int {
        // An operator has to empty a mirror that lacks what names it.
        let least = self.weather.mirrors && index == 1 ? 20 : 0
        let oldest = max(self.state.withLock { $0.lengths[index].min() } ?? 0, least)
        return max(self.stores[index].history.count - oldest, 0)
    }

    // MARK: - What is known

    /// The record of an account. During a move it is in the second store if it is there at all.
    func record(of account: AccountID) -> AccountRecord? {
        self.stored(.account(account.rawValue)).flatMap { self.open($0, of: account) }
    }

    func stored(_ key: RecordKey) -> StoredRecord? {
        self.countingStores.reversed().lazy.compactMap { $0.history.record(key) }.first
    }

    /// Opens a record, once: this would take most of a run's time.
    func open(_ stored: StoredRecord, of account: AccountID) -> AccountRecord? {
        if let known = self.state.withLock({ $0.opened[account]?[stored.version] }) { return known }
        let record = try? self.vault.open(stored, of: account).record
        self.state.withLock { $0.opened[account, default: [:]][stored.version] = record }
        return record
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

    /// What has run: equal for equal seeds.
    package var trace: Trace { self.simulation.trace }

    /// The story of a run that went wrong.
    package var account: String {
        let violations = self.ledger.violations.joined(separator: "\n")
        let story = self.ledger.story.joined(separator: "\n")
        let rule = self.mutation.map { ", without \($0.rawValue)" } ?? ""
        return "seed \(self.seed)\(rule) (\(self.weather)):\n\(violations)\n\nthe last events:\n\(story)"
    }
}
