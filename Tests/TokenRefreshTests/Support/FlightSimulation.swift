import OAuth
import Simulation
import TestKit
import TokenModel
import TokenRefresh
import TokenStorage

/// Simulates the flights of several replicas over one record and one rotating provider, in virtual time and in an order
/// that a seed determines. The store is one that several hosts reach: it is slow or unreachable, applies writes late,
/// returns stale reads and loses its last writes. Responses of the provider get lost; processes stall and die.
///
/// Each replica reads like the engine: if it knows a better record than the store, it puts that record back. Every step
/// is checked; ``violations`` lists what went wrong.
struct FlightSimulation {
    /// The probability of each fault at each step that it can affect.
    struct Weather: Sendable {
        var storeFails = 0.0
        /// The ways in which a store call fails.
        var failures: [FaultyTokenStore.Fault] = [.away, .unanswered, .late(calls: 3), .late(calls: 30), .full]
        /// The store, or the network to it, takes up to 2 s.
        var storeStalls = 0.0
        var isStale = 0.0
        var losesSuffix = 0.0
        var answerIsLost = 0.0
        var stops = 0.0
        var dies = 0.0
        /// The provider refuses the client's secret and checks nothing else.
        var clientIsRefused = 0.0
        /// How long a response may take. The provider rotates at once.
        var answersWithin = Duration.seconds(8)
    }

    /// A rule of flights, or of the code that reads for them, that a run omits.
    enum Mutation: Sendable {
        /// Tokens are dropped if the store is unreachable during their commit.
        case commitsAreGivenUp
        /// After a write without a response the record is not read again.
        case writesAreNotReadBack
        /// A claim that was not acknowledged counts as stored.
        case claimsNeedNoAnswer
        /// A claim's term counts from the response to its write.
        case claimsCountFromTheAnswer
        /// A write replaces whatever is stored.
        case writesAreBlind
        /// An older record is accepted, and the known one is not put back.
        case nothingIsPutBack
        /// A refresh token is sent although a later one was seen since the claim.
        case oldTokensAreSent
    }

    var violations: [String] = []
    var commits = 0
    /// The number of commits in fair weather.
    var fairCommits = 0
    var repairs = 0
    /// Whether tokens were inevitably lost: no living process, no journal and no store has them.
    var isLossExcused = false

    let weather: Weather
    let mutation: Mutation?
    let chance: Chance
    let shared: FaultyTokenStore
    let records: SealedRecords
    var provider = RotatingProvider(AccountRecord.expired().tokenVersion, lifetime: .seconds(20))
    var hasFaults = true
    var now = Duration.zero
    var timetable = Timetable<(replica: SimulatedReplica, step: Step)>()
    var replicas: [SimulatedReplica] = []
    /// The incarnations that have ended and whose journals were processed, and the records in journals that were not
    /// processed yet.
    var ended: Set<IncarnationID> = []
    var owed: [IncarnationID: AccountRecord] = [:]
    var hasLost = false
    /// The token sets whose claim was lost with the last writes of the store.
    var unclaimed: Set<TokenVersion> = []
    var seen: AccountVault.Entry?
    var opened: [[UInt8]: AccountVault.Entry] = [:]
    var tokensOf: [TokenVersion: Secret?] = [:]

    static let timeout = Duration.seconds(8)
    private static let keyRing = KeyRing(current: .random())
    static let key = RecordKey.account(alice.rawValue)

    init(seed: UInt64, replicas: Int = 3, weather: Weather, without mutation: Mutation? = nil) {
        self.weather = weather
        self.mutation = mutation
        self.chance = Chance(seed: seed)
        self.shared = FaultyTokenStore(StoreGuarantees(reach: .network, failover: .losesSuffix))
        self.records = SealedRecords(store: self.shared, keyRing: Self.keyRing, storeID: StoreID(rawValue: "store"))
        for _ in 0..<replicas { self.replicas.append(self.newReplica()) }
    }

    /// Runs for `duration` in foul weather and then for half as long in fair weather.
    mutating func run(for duration: Duration) async throws {
        _ = try await AccountVault(self.records).write(.expired(), for: alice, expecting: nil)
        for replica in self.replicas { self.start(replica) }
        while self.now < duration + duration / 2, self.violations.isEmpty, let (at, next) = self.timetable.next() {
            self.now = at
            self.hasFaults = self.now < duration
            self.chance.hasFaults = self.hasFaults
            guard next.step.isRemote || !next.replica.isDead else { continue }
            if !next.step.isRemote, self.happens(self.weather.dies) {
                self.die(next.replica)
                continue
            }
            await self.perform(next.step, next.replica)
            self.look()
            if self.happens(self.weather.losesSuffix) { self.lose(1 + self.chance.number(below: 4)) }
        }
        self.checkFinalState(after: duration)
    }

    // MARK: - Invariants

    /// Checks invariant I2 for the stored record, if it has changed since the last check.
    mutating func look() {
        let stored = self.shared.history.record(Self.key)
        guard stored?.version != self.seen?.version else { return }
        let entry = self.open(stored)
        let before = self.seen?.record
        self.seen = entry
        guard let record = entry?.record else { return }
        if let before, record.generation < before.generation, !self.hasLost {
            self.violations.append("a generation fell")
        }
        if let before, record.generation > before.generation {
            self.commits += 1
            if !self.hasFaults { self.fairCommits += 1 }
        }
        if let known = self.tokensOf[record.tokenVersion], known != record.tokens?.accessToken {
            self.violations.append("two token sets were committed as generation \(record.generation)")
        }
        self.tokensOf[record.tokenVersion] = record.tokens?.accessToken
    }

    /// Decrypts a stored record. Each record is decrypted only once, since this takes most of the run's time.
    mutating func open(_ stored: StoredRecord?) -> AccountVault.Entry? {
        guard let stored else { return nil }
        if let known = self.opened[stored.value.bytes] { return known }
        let entry = try? AccountVault(self.records).open(stored, of: alice)
        if entry == nil { self.violations.append("a record does not open") }
        self.opened[stored.value.bytes] = entry
        return entry
    }

    mutating func lose(_ count: Int) {
        let before = self.seen?.record
        // The first write, of the initial record, is never lost.
        self.shared.lose(min(count, self.shared.history.count - 1))
        self.hasLost = true
        self.look()
        if let before, before.claim != nil, self.seen?.record.claim != before.claim {
            self.unclaimed.insert(before.tokenVersion)
        }
        self.noteLoss()
    }

    /// Excuses the loss of a refresh token that nobody knows any more.
    mutating func noteLoss() {
        let live = self.provider.live
        let isKnown =
            self.seen?.record.tokens?.refreshToken?.text == live || self.replicas.contains { $0.knows(live) }
            || self.owed.values.contains { $0.tokens?.refreshToken?.text == live }
        if !isKnown { self.isLossExcused = true }
    }

    mutating func checkFinalState(after duration: Duration) {
        guard self.violations.isEmpty else { return }
        for replica in self.replicas where replica.endedLastAt < duration {
            self.violations.append("a flight does not end: \(replica.incarnation)")
        }
        guard !self.isLossExcused else { return }
        let (record, live) = (self.seen?.record, self.provider.live)
        if record?.failureRecord?.dead == true { self.violations.append("a grant that lives was declared dead") }
        if record?.tokens?.refreshToken?.text != live, !self.replicas.contains(where: { $0.inHand == live }) {
            self.violations.append("\(live) was lost")
        }
    }

    // MARK: - Processes

    func newReplica() -> SimulatedReplica {
        let store = self.shared.connect()
        let (chance, weather) = (self.chance, self.weather)
        store.fail { call in
            guard chance.hasFaults else { return .none }
            if call.operation == .read, chance.happens(weather.isStale) {
                return .stale(commits: 1 + chance.number(below: 12))
            }
            guard chance.happens(weather.storeFails) else { return .none }
            return weather.failures[chance.number(below: weather.failures.count)]
        }
        return SimulatedReplica(store, self.records, self.weather)
    }

    mutating func start(_ replica: SimulatedReplica) {
        replica.endedLastAt = self.now
        self.schedule(self.upTo(.seconds(2)), replica, .begin)
        self.schedule(self.upTo(.seconds(4)), replica, .look)
    }

    mutating func die(_ replica: SimulatedReplica) {
        replica.isDead = true
        // Its connection ends too. The claim may be broken at once, since its request counts as ambiguous.
        if let asked = replica.asks { self.provider.end(asked) }
        if let owed = replica.journal ?? replica.settled {
            // The restarted process, or another one on the host, takes the lock and the journal over.
            self.owed[replica.incarnation] = owed
            self.schedule(self.upTo(.seconds(1)), replica, .inherit(owed))
        } else {
            self.ended.insert(replica.incarnation)
        }
        let next = self.newReplica()
        self.replicas.removeAll { $0 === replica }
        self.replicas.append(next)
        self.start(next)
        self.noteLoss()
    }

    // MARK: - Chance and time

    var moment: Moment { .start.advanced(by: self.now) }

    func happens(_ probability: Double) -> Bool {
        self.hasFaults && probability > 0 && self.chance.happens(probability)
    }

    func upTo(_ longest: Duration) -> Duration { longest * self.chance.fraction }

    /// The time for one way to the store or back. It is mostly short, and a call takes at most 2 s.
    func storeTime() -> Duration {
        self.upTo(self.happens(self.weather.storeStalls) ? .seconds(1) : .milliseconds(10))
    }

    /// How long the process stalls; zero if it does not.
    func stop() -> Duration {
        guard self.happens(self.weather.stops) else { return .zero }
        return [.milliseconds(500), .seconds(3), .seconds(30)][self.chance.number(below: 3)]
    }

    mutating func answer(_ replica: SimulatedReplica, _ step: Step) {
        self.schedule(self.storeTime() + self.stop(), replica, step)
    }

    mutating func schedule(_ delay: Duration, _ replica: SimulatedReplica, _ step: Step) {
        self.timetable.add((replica, step), at: self.now + delay)
    }
}
