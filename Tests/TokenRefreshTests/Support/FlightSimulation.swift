import OAuth
import TestKit
import TokenModel
import TokenRefresh
import TokenStorage

/// Several replicas' flights over one record and one rotating provider, in virtual time and in an order that a seed decides.
/// The store is one that several hosts reach: it is slow and away, lands writes late, shows the past and loses suffixes;
/// answers of the provider are lost, processes stop and end.
///
/// Each replica reads as the engine does: what its desk knows better is put back. The history is checked as it happens;
/// what is wrong is listed in ``violations``.
struct FlightSimulation {
    /// How likely each mishap is, at each step that it can hit.
    struct Weather: Sendable {
        var storeFails = 0.0
        /// How calls fail that do.
        var failures: [FaultyTokenStore.Fault] = [.away, .unanswered, .late(calls: 3), .late(calls: 30), .full]
        /// The store, or the way to it, takes up to 2 s.
        var storeStalls = 0.0
        var isStale = 0.0
        var losesSuffix = 0.0
        var answerIsLost = 0.0
        var stops = 0.0
        var dies = 0.0
        /// The provider takes the client's secret for a wrong one, and looks no further.
        var clientIsRefused = 0.0
        /// How long an answer may take; the provider has rotated at once.
        var answersWithin = Duration.seconds(8)
    }

    /// A rule of flights, or of who reads for them, that a run goes without.
    enum Mutation: Sendable {
        /// Tokens are dropped where the store is away when they are to be committed.
        case commitsAreGivenUp
        /// What a write without an answer has left behind is not read.
        case writesAreNotReadBack
        /// A claim that was not acknowledged is taken to stand.
        case claimsNeedNoAnswer
        /// A claim's time counts from when its answer has come.
        case claimsCountFromTheAnswer
        /// A write goes over whatever is there.
        case writesAreBlind
        /// An older record is gone by, and not written over by the one that is known.
        case nothingIsPutBack
        /// A refresh token is sent although a later one was seen since it was claimed.
        case oldTokensAreSent
    }

    var violations: [String] = []
    var commits = 0
    /// Those of them that came when the weather had become fair.
    var fairCommits = 0
    var repairs = 0
    /// Whether tokens were lost in a way that nobody can help: no living process, no journal and no store has them.
    var isLossExcused = false

    let weather: Weather
    let mutation: Mutation?
    let chance: Chance
    let shared: FaultyTokenStore
    let records: SealedRecords
    var provider = RotatingProvider(AccountRecord.expired().tokenVersion, lifetime: .seconds(20))
    var isFoul = true
    var now = Duration.zero
    /// When each comes, with its number, and what it is.
    var order: [(Duration, Int)] = []
    var events: [Int: (replica: SimulatedReplica, step: Step)] = [:]
    var scheduled = 0
    var replicas: [SimulatedReplica] = []
    /// Boots that have ended, and whose journals were seen to; and what journals of others still hold.
    var ended: Set<IncarnationID> = []
    var owed: [IncarnationID: AccountRecord] = [:]
    var hasLost = false
    /// Of these a claim was lost with a suffix.
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

    /// Goes through `duration` of foul weather, and then through half as much of fair.
    mutating func run(for duration: Duration) async throws {
        _ = try await AccountVault(self.records).write(.expired(), for: alice, expecting: nil)
        for replica in self.replicas { self.start(replica) }
        while self.now < duration + duration / 2, self.violations.isEmpty, let next = self.takeNext() {
            self.now = next.at
            self.isFoul = self.now < duration
            self.chance.isFoul = self.isFoul
            guard next.step.isRemote || !next.replica.isDead else { continue }
            if !next.step.isRemote, self.happens(self.weather.dies) {
                self.die(next.replica)
                continue
            }
            await self.perform(next.step, next.replica)
            self.look()
            if self.happens(self.weather.losesSuffix) { self.lose(1 + self.chance.number(below: 4)) }
        }
        self.lookAtTheEnd(after: duration)
    }

    // MARK: - What must hold

    /// I2: what stands, since it was looked at last.
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
            if !self.isFoul { self.fairCommits += 1 }
        }
        if let known = self.tokensOf[record.tokenVersion], known != record.tokens?.accessToken {
            self.violations.append("two token sets were committed as generation \(record.generation)")
        }
        self.tokensOf[record.tokenVersion] = record.tokens?.accessToken
    }

    /// Opens what is stored. Each record is opened once, however often it is read: that is what takes time here.
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
        // The record was there before the first schedule began.
        self.shared.lose(min(count, self.shared.history.count - 1))
        self.hasLost = true
        self.look()
        if let before, before.claim != nil, self.seen?.record.claim != before.claim {
            self.unclaimed.insert(before.tokenVersion)
        }
        self.noteLoss()
    }

    /// What nobody knows any more nobody can have.
    mutating func noteLoss() {
        let live = self.provider.live
        let isKnown =
            self.seen?.record.tokens?.refreshToken?.text == live || self.replicas.contains { $0.knows(live) }
            || self.owed.values.contains { $0.tokens?.refreshToken?.text == live }
        if !isKnown { self.isLossExcused = true }
    }

    mutating func lookAtTheEnd(after duration: Duration) {
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
            guard chance.isFoul else { return .none }
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
        // Its connection went with it. The claim may be broken at once: whatever it asked counts as ambiguous.
        if let asked = replica.asks { self.provider.end(asked) }
        if let owed = replica.journal ?? replica.settled {
            // Its next life, or another process of the host, has the lock then.
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
        self.isFoul && probability > 0 && self.chance.happens(probability)
    }

    func upTo(_ longest: Duration) -> Duration { longest * self.chance.fraction }

    /// One way to the store, or back: mostly quick, and a call takes no more than 2 s.
    func storeTime() -> Duration {
        self.upTo(self.happens(self.weather.storeStalls) ? .seconds(1) : .milliseconds(10))
    }

    /// How long the process stands still, if it does.
    func stop() -> Duration {
        guard self.happens(self.weather.stops) else { return .zero }
        return [.milliseconds(500), .seconds(3), .seconds(30)][self.chance.number(below: 3)]
    }

    mutating func answer(_ replica: SimulatedReplica, _ step: Step) {
        self.schedule(self.storeTime() + self.stop(), replica, step)
    }

    mutating func schedule(_ delay: Duration, _ replica: SimulatedReplica, _ step: Step) {
        self.scheduled += 1
        self.events[self.scheduled] = (replica, step)
        self.order.append((self.now + delay, self.scheduled))
    }

    mutating func takeNext() -> (at: Duration, replica: SimulatedReplica, step: Step)? {
        guard let index = self.order.indices.min(by: { self.order[$0] < self.order[$1] }) else { return nil }
        let (at, number) = self.order.remove(at: index)
        return self.events.removeValue(forKey: number).map { (at, $0.replica, $0.step) }
    }
}
