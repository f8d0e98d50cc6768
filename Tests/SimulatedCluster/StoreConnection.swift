internal import Simulation
internal import Synchronization
internal import TestKit
internal import TokenModel
internal import TokenStorage

/// A store as one process reaches it: over a network that may be cut, and with a driver that waits for at most 2 s.
final class StoreConnection: TokenStore {
    let guarantees: StoreGuarantees
    private let store: FaultyTokenStore
    private let process: SimulatedProcess
    private let name: String
    private let network: Network
    private let weather: Weather
    private let mutation: Mutation?
    private let cluster: SimulatedCluster
    /// What is written here is no news.
    private let isMirror: Bool
    /// The replicas go over to it.
    private let isTarget: Bool
    private let proxy: SimulatedProxy
    private let link: Answer<Link>

    /// How the process is connected to the store.
    enum Link: Equatable {
        case whole
        /// No call comes through.
        case cut
        /// It is cut off together with a former primary, which knows no later commits and takes no writes.
        case isolated(knowing: Int)
    }

    private static let patience = Duration.seconds(2)
    private static let unreachable = StoreError(.unreachable, "no answer in time")

    /// - Parameter number: that of the store in the cluster.
    init(
        _ number: Int,
        _ process: SimulatedProcess,
        _ proxy: SimulatedProxy,
        named name: String,
        in cluster: SimulatedCluster
    ) {
        let store = cluster.stores[number].connect()
        self.isMirror = cluster.weather.mirrors && number == 1
        self.isTarget = cluster.weather.moves && number == 1
        self.proxy = proxy
        let (network, weather, mutation) = (cluster.network, cluster.weather, cluster.mutation)
        self.guarantees =
            switch mutation {
            case .leaseByReading: StoreGuarantees(reach: .host, failover: store.guarantees.failover)
            default: store.guarantees
            }
        self.store = store
        self.process = process
        self.name = name
        self.network = network
        self.weather = weather
        self.mutation = mutation
        self.cluster = cluster
        let (chance, faults) = (network.chance, weather)
        let link = Answer(Link.whole)
        self.link = link
        store.fail { [ledger = cluster.ledger] call in
            if mutation == .nothingIsRestored, call.operation == .write, ledger.count(.failovers) > 0,
                RecordKey.Prefix.kills.contains(RecordKey(rawValue: call.place))
            {
                return .forgotten
            }
            guard chance.hasFaults else { return .none }
            let isRead = call.operation == .read || call.operation == .records
            if case .isolated(let known) = link.value {
                guard isRead else { return .away }
                let commits = max(store.history.count - known, 0)
                return mutation == .forgetfulStore ? .forgetful(commits: commits) : .stale(commits: commits)
            }
            if isRead, chance.happens(faults.isStale) {
                guard mutation == .forgetfulStore else { return .stale(commits: 1 + chance.number(below: 12)) }
                return .forgetful(commits: 1 + chance.number(below: 100))
            }
            if let lie = Self.lie(mutation, call, chance) { return lie }
            guard chance.happens(faults.storeFails) else { return .none }
            return [.away, .unanswered, .late(calls: chance.number(below: 40)), .full][chance.number(below: 4)]
        }
    }

    /// What a store does that acknowledges what it has not written.
    private static func lie(
        _ mutation: Mutation?,
        _ call: FaultyTokenStore.Call,
        _ chance: Chance
    ) -> FaultyTokenStore.Fault? {
        guard call.operation == .write, chance.happens(0.2) else { return nil }
        let key = RecordKey(rawValue: call.place)
        switch mutation {
        case .commitsAreGivenUp, .claimsNeedNoAnswer: return RecordKey.Prefix.accounts.contains(key) ? .forgotten : nil
        default: return nil
        }
    }

    /// The network to the store breaks, or is whole again.
    func cut() { self.link.value = .cut }
    func isolate() {
        let known = self.store.history.count
        self.link.value = .isolated(knowing: known)
    }
    func mend() { self.link.value = .whole }
    var isWhole: Bool { self.link.value == .whole }

    private var isReachable: Bool { !self.process.hasEnded && self.link.value != .cut }

    /// - Parameter rate: how often the process is stopped or killed before it has the answer.
    private func call<Value: Sendable>(
        struck rate: Double = 0.002,
        _ perform: @escaping @Sendable () async throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        guard self.isReachable else {
            if !self.process.hasEnded { await self.network.pause(Self.patience) }
            throw Self.unreachable
        }
        let stalls = self.network.chance.hasFaults && self.network.chance.happens(self.weather.storeStalls)
        let longest = stalls ? Self.patience * 2 : .milliseconds(10)
        let result: Result<Value, StoreError> = await self.network.call(
            there: self.network.way(upTo: longest),
            back: self.network.way(upTo: longest),
            within: Self.patience,
            otherwise: .failure(Self.unreachable)
        ) {
            defer { self.cluster.strike(self.process, rate) }
            do throws(StoreError) { return .success(try await perform()) } catch { return .failure(error) }
        }
        guard self.isReachable else { throw Self.unreachable }
        return try result.get()
    }

    func read(_ key: RecordKey) async throws(StoreError) -> StoredRecord? {
        try await self.call { [store] () async throws(StoreError) in
            let stored = try await store.read(key)
            // It may have come late, or without a response for its writer.
            if let stored { self.noteDurable(stored, at: key) }
            return stored
        }
    }

    func records(
        under prefix: RecordKey.Prefix,
        after: RecordKey?,
        limit: Int
    ) async throws(StoreError) -> [KeyedRecord] {
        try await self.call { [store] () async throws(StoreError) in
            try await store.records(under: prefix, after: after, limit: limit)
        }
    }

    func write(
        _ value: SealedBytes,
        at key: RecordKey,
        as version: Version,
        expecting: Version?
    ) async throws(StoreError) {
        let (store, isBlind) = (self.store, self.mutation == .writesAreBlind)
        let hidesAnswers = self.mutation == .writesAreNotReadBack
        do throws(StoreError) {
            let isAccount = RecordKey.Prefix.accounts.contains(key)
            try await self.call(struck: isAccount ? 0.02 : 0.002) { () async throws(StoreError) in
                let current = isBlind ? store.history.record(key)?.version : expecting
                if RecordKey.Prefix.replicas.contains(key) { self.proxy.heartbeatLanded() }
                try await store.write(value, at: key, as: version, expecting: current)
                self.wrote(StoredRecord(version: version, value: value), at: key)
            }
        } catch {
            guard hidesAnswers, error.code == .unreachable else { throw error }
        }
    }

    func remove(_ key: RecordKey, expecting: Version) async throws(StoreError) {
        try await self.call { [store] () async throws(StoreError) in try await store.remove(key, expecting: expecting) }
    }

    /// The time at the store's server.
    func time() async throws(StoreError) -> WallTime {
        try await self.call { [network] () async throws(StoreError) in network.simulation.wall }
    }

    /// Hints of the store, of which some are lost. A driver's own, that it is connected anew, are not.
    func changes() -> AsyncStream<RecordChange> {
        let (source, chance, lost) = (self.store.changes(), self.network.chance, self.weather.hintIsLost)
        guard lost > 0 else { return source }
        let (stream, hints) = AsyncStream.makeStream(of: RecordChange.self)
        let forwarding = Task(executorPreference: OwnedTasks.executor) {
            for await change in source where change == .anotherServer || !chance.hasFaults || !chance.happens(lost) {
                hints.yield(change)
            }
            hints.finish()
        }
        hints.onTermination = { _ in forwarding.cancel() }
        return stream
    }

    /// Tells what was written for an account.
    private func wrote(_ stored: StoredRecord, at key: RecordKey) {
        guard let (account, record) = self.noteDurable(stored, at: key) else { return }
        // What a replica that knows of no move puts into the store that was left counts nothing.
        if self.cluster.stored(key) == stored { self.cluster.ledger.stored(record, of: account) }
        if self.isTarget { self.cluster.expectNobodyStays(because: self.name) }
        let claim = record.claim == nil ? "" : ", a claim"
        let failure = record.failureRecord.map { ", \($0.dead ? "dead" : "failed"): \($0.reason)" } ?? ""
        let token = record.tokens?.refreshToken?.text ?? "no token"
        self.cluster.ledger.note(
            self.name,
            "writes \(account): \(token), epoch \(record.observedEpoch)\(claim)\(failure)"
        )
    }

    /// The account and its record, whose access token is durable.
    @discardableResult
    private func noteDurable(_ stored: StoredRecord, at key: RecordKey) -> (account: AccountID, record: AccountRecord)?
    {
        guard RecordKey.Prefix.accounts.contains(key), !self.isMirror else { return nil }
        let account = AccountID(String(key.rawValue.dropFirst(RecordKey.Prefix.accounts.rawValue.count)))
        guard let record = self.cluster.open(stored, of: account) else { return nil }
        if let token = record.tokens?.accessToken { self.cluster.ledger.isDurable(token.text) }
        return (account, record)
    }
}
