import OAuth
import TestKit
import TokenModel
import TokenRefresh
import TokenStorage

/// Several replicas' flights over one record and one rotating provider, in virtual time and in an order that a seed
/// decides: slow and failing stores, writes that land late, lost answers, stopped and killed processes.
///
/// The history is checked as it happens; what is wrong is listed in ``faults``.
struct FlightSimulation {
    /// How likely each mishap is, at each step that it can hit.
    struct Weather: Sendable {
        var storeFails = 0.0
        var answerIsLost = 0.0
        var stops = 0.0
        var dies = 0.0
        /// The provider takes the client's secret for a wrong one, and looks no further.
        var clientIsRefused = 0.0
        /// How long an answer may take; the provider has rotated at once.
        var answersWithin = Duration.seconds(8)
    }

    private enum Delivery {
        case read(Result<AccountVault.Entry?, StoreError>)
        case write(Result<Version, StoreError>, sentAt: BootInstant)
        case redeem(TokenVerdict)
        case journal(Bool)
        case pass
        case pause
        case admit
        case begin
    }

    private enum Event {
        case deliver(Delivery, to: Int, life: Int)
        case land(AccountRecord, expecting: Version?)
        case send(Int, life: Int, Secret, sendBy: BootInstant, startedAt: Duration)
        case arrive(TokenMark, of: Int, life: Int)
        case inherit(AccountRecord, from: BootID)
    }

    /// A flight can't be copied, so it lives in an object.
    private final class Replica {
        var flight: Flight
        var sight: Sight?
        var watch = ClaimWatch()
        var boot = BootID.random()
        var life = 0
        /// Tokens the provider has issued to it and that are not in the store yet.
        var inHand: String?
        /// What it is asking the provider to refresh.
        var asks: TokenMark?
        /// What its journal holds.
        var journal: AccountRecord?

        init(_ flight: consuming Flight) { self.flight = flight }
    }

    private(set) var faults: [String] = []
    private(set) var stored: AccountVault.Entry?
    private(set) var commits = 0
    private(set) var spent = 0
    /// Boots that have ended, and whose journals were seen to.
    private var ended: Set<BootID> = []
    /// Whether tokens were lost in a way that nobody can help.
    private(set) var isLossExcused = false

    private var weather: Weather
    private var generator: SeededGenerator
    private var now = Duration.zero
    private var events: [(at: Duration, number: Int, event: Event)] = []
    private var scheduled = 0
    private var replicas: [Replica] = []
    private var live = "rt-0"
    private var issued = 0
    private var inFlight: [TokenMark: Int] = [:]
    private var tokensOf: [TokenMark: Secret?] = [:]
    /// Which token set each refresh token belongs to.
    private var marks: [String: TokenMark] = ["rt-0": AccountRecord.expired().mark]

    private static let timeout = Duration.seconds(8)
    private static let lifetime = Duration.seconds(20)

    init(seed: UInt64, replicas: Int, weather: Weather) {
        self.generator = SeededGenerator(seed: seed)
        self.weather = weather
        self.stored = AccountVault.Entry(record: .expired(), version: Version(1))
        for index in 0..<replicas {
            self.replicas.append(Replica(Flight(Self.plan(BootID.random(), .usable, weather), sight: nil)))
            self.schedule(self.upTo(.seconds(2)), .deliver(.begin, to: index, life: 0))
        }
    }

    /// Goes through `duration` of foul weather, and then through as much of fair.
    mutating func run(for duration: Duration) {
        let foul = self.weather
        while self.now < duration * 2, self.faults.isEmpty, let next = self.takeNext() {
            self.now = next.at
            self.weather = self.now < duration ? foul : Weather(answersWithin: foul.answersWithin)
            self.happen(next.event)
        }
    }

    private var moment: Moment { .start.advanced(by: self.now) }

    private static func plan(_ boot: BootID, _ demand: Demand, _ weather: Weather) -> FlightPlan {
        FlightPlan(
            account: alice,
            binding: .acme,
            proofs: ProofOrder(digests: [nil, nil]),
            timeout: Self.timeout,
            answerTimeout: weather.answersWithin,
            boot: boot,
            claim: .random(),
            demand: demand,
            jitter: 0.5
        )
    }

    private mutating func happen(_ event: Event) {
        switch event {
        case .deliver(let delivery, let index, let life):
            guard self.replicas[index].life == life else { return }
            if self.chance(self.weather.dies) { return self.die(index) }
            self.deliver(delivery, to: index)
        case .land(let record, let expecting):
            _ = self.land(record, expecting)
        case .send(let index, let life, let refreshToken, let sendBy, let startedAt):
            guard self.replicas[index].life == life else { return }
            self.send(index, refreshToken, sendBy: sendBy, startedAt: startedAt)
        case .arrive(let mark, let index, let life):
            guard self.replicas[index].life == life else { return }
            self.replicas[index].asks = nil
            self.inFlight[mark, default: 0] -= 1
        case .inherit(let owed, let boot):
            self.inherit(owed, from: boot)
        }
    }

    private mutating func deliver(_ delivery: Delivery, to index: Int) {
        let replica = self.replicas[index]
        let action: FlightAction
        switch delivery {
        case .begin:
            let mark = replica.sight?.mark
            let isRefused = self.chance(0.3)
            let isRipe = self.chance(0.3)
            let demand = Demand(
                refused: isRefused ? mark : nil,
                ripe: isRipe ? mark : nil,
                isForced: self.chance(0.05)
            )
            let plan = Self.plan(replica.boot, demand, self.weather)
            replica.flight = Flight(plan, sight: replica.sight, watch: replica.watch)
            action = replica.flight.begin()
        case .read(let result):
            let holder = (try? result.get())?.record.claim?.boot
            let isHolderDead = holder.map(self.ended.contains) ?? false
            action = replica.flight.didRead(result, isHolderDead: isHolderDead, now: self.moment)
        case .write(let result, let sentAt):
            action = replica.flight.didWrite(result, sentAt: sentAt, now: self.moment)
        case .redeem(let verdict): action = replica.flight.didRedeem(verdict, now: self.moment)
        case .journal(let isKept): action = replica.flight.didJournal(isKept, now: self.moment)
        case .pass: action = replica.flight.didPass(now: self.moment)
        case .pause: action = replica.flight.didPause(.no)
        case .admit: action = replica.flight.didAdmit(nil, now: self.moment)
        }
        self.perform(action, of: index)
    }

    private mutating func perform(_ action: FlightAction, of index: Int) {
        let replica = self.replicas[index]
        let life = replica.life
        switch action {
        case .read:
            let result: Result<AccountVault.Entry?, StoreError> =
                self.chance(self.weather.storeFails) ? .failure(.away) : .success(self.stored)
            self.schedule(self.storeTime(), .deliver(.read(result), to: index, life: life))
        case .write(let record, let expecting):
            let result = self.write(record, expecting)
            self.schedule(
                self.storeTime(),
                .deliver(.write(result, sentAt: self.moment.boot), to: index, life: life)
            )
        case .redeem(let refreshToken, let sendBy):
            self.schedule(
                self.upTo(.milliseconds(2_500)) + self.stop(),
                .send(index, life: life, refreshToken, sendBy: sendBy, startedAt: self.now)
            )
        case .mint:
            self.faults.append("a token was minted for an account with a refresh token")
        case .journal(let record):
            let isKept = self.chance(0.8)
            if isKept { replica.journal = record }
            self.schedule(self.upTo(.milliseconds(20)), .deliver(.journal(isKept), to: index, life: life))
        case .pass(let entry, _):
            if replica.journal != entry.record { self.faults.append("tokens were used that were not durable") }
            self.schedule(.zero, .deliver(.pass, to: index, life: life))
        case .pause(let until):
            let rest = max(self.moment.boot.duration(to: until), .zero)
            self.schedule(rest + self.stop(), .deliver(.pause, to: index, life: life))
        case .admit:
            self.schedule(.zero, .deliver(.admit, to: index, life: life))
        case .end(let outcome):
            self.end(outcome, of: index)
        }
    }

    private mutating func end(_ outcome: FlightOutcome, of index: Int) {
        let replica = self.replicas[index]
        replica.sight = outcome.sight ?? replica.sight
        replica.watch = outcome.watch
        replica.journal = nil
        if let dropped = outcome.dropped {
            let current = self.stored?.record.generation ?? .none
            let isThere = self.tokensOf.values.contains(dropped.accessToken)
            if !isThere, current < Generation(2) { self.faults.append("tokens were dropped for nothing") }
            // A later generation stood there already: another replica had got its own from the provider.
            replica.inHand = nil
        }
        if outcome.result == .committed { replica.inHand = nil }
        if let inHand = replica.inHand { self.faults.append("\(inHand) was thrown away: \(outcome.result)") }
        self.schedule(self.upTo(.seconds(5)), .deliver(.begin, to: index, life: replica.life))
    }

    private mutating func write(_ record: AccountRecord, _ expecting: Version?) -> Result<Version, StoreError> {
        guard self.chance(self.weather.storeFails) else { return self.land(record, expecting) }
        switch Int.random(in: 0..<3, using: &self.generator) {
        case 0: break
        case 1: _ = self.land(record, expecting)
        default: self.schedule(self.upTo(.seconds(4)), .land(record, expecting: expecting))
        }
        return .failure(.away)
    }

    private mutating func land(_ record: AccountRecord, _ expecting: Version?) -> Result<Version, StoreError> {
        guard self.stored?.version == expecting else { return .failure(.conflict(nil)) }
        let before = self.stored?.record
        if let before, record.generation < before.generation { self.faults.append("a generation fell") }
        if record.generation != before?.generation { self.commits += 1 }
        if let known = self.tokensOf[record.mark], known != record.tokens?.accessToken {
            self.faults.append("two token sets were committed as generation \(record.generation)")
        }
        self.tokensOf[record.mark] = record.tokens?.accessToken
        let version = expecting?.next ?? .first
        self.stored = AccountVault.Entry(record: record, version: version)
        return .success(version)
    }

    private mutating func send(_ index: Int, _ refreshToken: Secret, sendBy: BootInstant, startedAt: Duration) {
        let replica = self.replicas[index]
        let left = self.weather.answersWithin - (self.now - startedAt)
        guard self.moment.boot <= sendBy, left > .zero else {
            let verdict = TokenVerdict.notSent(left > .zero ? .sendingTooLate : .timedOut)
            return self.schedule(.zero, .deliver(.redeem(verdict), to: index, life: replica.life))
        }
        guard let mark = self.marks[refreshToken.text] else {
            self.faults.append("a refresh token was spent that was never stored")
            return
        }
        let isRefused = self.weather.clientIsRefused > 0 && self.chance(self.weather.clientIsRefused)
        if !isRefused { self.spent += 1 }
        if self.inFlight[mark, default: 0] > 0 { self.faults.append("two refreshes at once of \(mark)") }
        self.inFlight[mark, default: 0] += 1
        let isLost = self.chance(self.weather.answerIsLost)
        let takes = isLost ? left : self.upTo(left)
        replica.asks = mark
        self.schedule(takes, .arrive(mark, of: index, life: replica.life))
        if isRefused {
            let verdict = isLost ? TokenVerdict.ambiguous(.timedOut) : .config(.code("invalid_client"))
            return self.schedule(takes + self.stop(), .deliver(.redeem(verdict), to: index, life: replica.life))
        }
        let isProcessed = !isLost || Bool.random(using: &self.generator)
        var verdict = TokenVerdict.ambiguous(.timedOut)
        if isProcessed, refreshToken.text == self.live {
            self.issued += 1
            self.live = "rt-\(self.issued)"
            self.marks[self.live] = TokenMark(grant: mark.grant, generation: mark.generation.next)
            if isLost {
                self.isLossExcused = true
            } else {
                verdict = .success(.sample(self.issued, lifetime: Self.lifetime))
                replica.inHand = "at-\(self.issued)"
            }
        } else if isProcessed, !isLost {
            verdict = .dead(.code("invalid_grant"))
        }
        self.schedule(takes + self.stop(), .deliver(.redeem(verdict), to: index, life: replica.life))
    }

    private mutating func die(_ index: Int) {
        let replica = self.replicas[index]
        // Its connection went with it. The claim may be broken at once: whatever it asked counts as ambiguous.
        if let asked = replica.asks { self.inFlight[asked, default: 0] -= 1 }
        replica.asks = nil
        if let owed = replica.journal {
            // Its next life, or another process of the host, has the lock then.
            self.schedule(self.upTo(.seconds(1)), .inherit(owed, from: replica.boot))
            replica.journal = nil
        } else {
            if replica.inHand != nil { self.isLossExcused = true }
            self.ended.insert(replica.boot)
        }
        replica.inHand = nil
        replica.life += 1
        replica.boot = .random()
        replica.sight = nil
        replica.watch = ClaimWatch()
        self.schedule(.seconds(1) + self.upTo(.seconds(5)), .deliver(.begin, to: index, life: replica.life))
    }

    /// The journal of a boot that has ended is taken over.
    private mutating func inherit(_ owed: AccountRecord, from boot: BootID) {
        self.ended.insert(boot)
        let entry = JournalEntry(account: alice, record: owed)
        guard entry.isOwed(to: self.stored?.record) else { return }
        _ = self.land(owed, self.stored?.version)
    }

    // MARK: - Chance and time

    private mutating func chance(_ probability: Double) -> Bool {
        Double.random(in: 0..<1, using: &self.generator) < probability
    }

    private mutating func upTo(_ longest: Duration) -> Duration {
        longest * Double.random(in: 0..<1, using: &self.generator)
    }

    /// Mostly quick, now and then as slow as a store may be.
    private mutating func storeTime() -> Duration {
        let isSlow = self.chance(self.weather.storeFails)
        return self.upTo(isSlow ? .seconds(2) : .milliseconds(20)) + self.stop()
    }

    /// How long the process stands still, if it does.
    private mutating func stop() -> Duration {
        guard self.chance(self.weather.stops) else { return .zero }
        return [.milliseconds(500), .seconds(3), .seconds(30)].randomElement(using: &self.generator) ?? .zero
    }

    private mutating func schedule(_ delay: Duration, _ event: Event) {
        self.scheduled += 1
        self.events.append((self.now + delay, self.scheduled, event))
    }

    private mutating func takeNext() -> (at: Duration, number: Int, event: Event)? {
        let next = self.events.indices.min {
            (self.events[$0].at, self.events[$0].number) < (self.events[$1].at, self.events[$1].number)
        }
        return next.map { self.events.remove(at: $0) }
    }
}
