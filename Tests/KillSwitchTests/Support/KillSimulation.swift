import KillSwitch
import Simulation
import TestKit
import TokenModel
import TokenStorage

/// The kill switches of several replicas over one faulty store that several hosts can reach, in virtual time and in an
/// order that a seed decides. Faults are slow, stale and failing stores, late writes, lost suffixes, and stopped and
/// ended processes.
///
/// The invariants are checked after each step. Violations are listed in ``violations``.
struct KillSimulation {
    /// The probability of each fault, per step that it can affect.
    struct Weather: Sendable {
        var storeFails = 0.0
        var isStale = 0.0
        var losesSuffix = 0.0
        var stops = 0.0
        var dies = 0.0
    }

    /// A rule of the kill switch or of a store that a run leaves out.
    enum Mutation: Sendable, CaseIterable {
        /// A read renews the lease, and silence alone proves that a lease has lapsed.
        case leaseByReading
        /// The lease counts from the end of the poll.
        case leaseFromTheEnd
        /// A store returns reads from before the connection's own writes.
        case forgetfulStore
        /// A kill whose write was not acknowledged is given up.
        case ordersAreDropped
        /// A lost entry is not written back.
        case nothingIsRestored
    }

    private enum Step {
        case poll
        case read
        case perform(KillMachine.PollAction)
        case answer(@Sendable (inout KillMachine) -> KillMachine.PollAction)
        case fence(KillLogContents)
        case raise(KillEntry, at: Epoch)
        case look(Epoch)
        case wait(Epoch, KillMachine.WaitAction)
        case kill
        case revive
        case lock
        case fold
    }

    var violations: [String] = []
    /// Kills that were reported complete.
    private(set) var complete: [KillID: Epoch] = [:]
    /// Each ordered kill and the process that ordered it.
    private(set) var ordered: [KillID: IncarnationID] = [:]
    private(set) var placed: Set<KillID> = []
    private(set) var pollsThatGaveALease = 0
    private(set) var restored = 0
    /// How often the log was folded.
    private(set) var folds = 0

    static let lease = Duration.seconds(10)
    private let weather: Weather
    private let mutation: Mutation?
    private let chance: Chance
    private let shared: FaultyTokenStore
    let records: SealedRecords
    private var hasFaults = true
    private(set) var now = Duration.zero
    private(set) var replicas: [SimulatedReplica] = []
    private var timetable = Timetable<(replica: Int, life: IncarnationID, step: Step)>()
    /// Whether a failover has lost commits.
    var hasLost = false
    /// Complete kills that a failover has lost.
    var lost: Set<KillID> = []

    init(seed: UInt64, replicas: Int = 3, weather: Weather, without mutation: Mutation? = nil) {
        self.weather = weather
        self.mutation = mutation
        self.chance = Chance(seed: seed)
        self.shared = FaultyTokenStore(StoreGuarantees(reach: .network, failover: .losesSuffix))
        self.records = SealedRecords(store: self.shared, keyRing: Self.keyRing, storeID: StoreID(rawValue: "store"))
        for index in 0..<replicas { self.replicas.append(self.newReplica(index)) }
    }

    private static let keyRing = KeyRing(current: .random())

    /// Runs for `duration` with faults, and then as long without.
    mutating func run(for duration: Duration) async {
        for index in self.replicas.indices { self.begin(index) }
        while self.now < duration * 2, self.violations.isEmpty, let (at, next) = self.timetable.next() {
            self.now = at
            self.hasFaults = self.now < duration
            let replica = self.replicas[next.replica]
            guard replica.incarnation == next.life else { continue }
            if self.happens(self.weather.dies) {
                self.replicas[next.replica] = self.newReplica(next.replica)
                self.begin(next.replica)
                continue
            }
            if self.happens(self.weather.stops) {
                let pause = [Duration.milliseconds(500), .seconds(3), .seconds(30)][self.chance.number(below: 3)]
                self.schedule(pause, next.replica, next.step)
                continue
            }
            if self.happens(self.weather.losesSuffix) {
                self.shared.lose(1 + self.chance.number(below: 4))
                await self.noteLostCommits()
            }
            await self.perform(next.step, next.replica)
            self.look()
        }
        await self.checkFinalState()
    }

    // MARK: - Steps

    private mutating func perform(_ step: Step, _ index: Int) async {
        let replica = self.replicas[index]
        switch step {
        case .poll:
            self.schedule(.seconds(3), index, .poll)
            guard !replica.isPolling else { return }
            (replica.isPolling, replica.renews, replica.pollStartedAt) = (true, true, self.now)
            let moment = self.moment
            self.apply(index, replica.machine.beginPoll(moment))
        case .read:
            self.schedule(self.upTo(.seconds(8)), index, .read)
            guard !replica.isPolling else { return }
            (replica.isPolling, replica.renews) = (true, false)
            self.apply(index, replica.machine.beginRead())
        case .perform(let action):
            await self.perform(action, index)
        case .answer(let event):
            self.apply(index, event(&replica.machine))
        case .fence(let contents):
            self.fence(index, by: contents)
            self.apply(index, replica.machine.didFence())
        case .raise(let entry, let epoch):
            await self.raise(entry, at: epoch, index)
        case .look(let epoch):
            let action = replica.machine.beginWait(for: epoch)
            if action == .nothing { return }
            self.schedule(self.storeTime(), index, .wait(epoch, action))
        case .wait(let epoch, let action):
            await self.wait(for: epoch, action, index)
        case .kill:
            // No kill begins in the part without faults, so that the whole part is left to complete kills.
            if self.hasFaults { self.kill(index) }
        case .fold:
            self.schedule(self.upTo(.seconds(10)), index, .fold)
            await self.fold(index)
        case .lock:
            // A lock that the store does not take is given up, as the operator is told.
            let entry = KillEntry(.locked, .all, reason: "", at: self.moment.wall)
            if self.hasFaults { self.schedule(.zero, index, .raise(entry, at: replica.machine.log.epochs.last.next)) }
        case .revive:
            let entry = KillEntry(.revive, .all, reason: "", at: self.moment.wall)
            self.schedule(.zero, index, .raise(entry, at: replica.machine.log.epochs.last.next))
        }
    }

    /// Sets the lease deadline that the event loops see, and schedules the next action.
    private mutating func apply(_ index: Int, _ action: KillMachine.PollAction) {
        let replica = self.replicas[index]
        replica.leaseUntil = replica.machine.leaseUntil
        for case .restored(let count) in replica.machine.takeNotices() { self.restored += count }
        switch action {
        case .end(let error):
            replica.isPolling = false
            guard error == nil else { return }
            self.pollsThatGaveALease += 1
            if self.mutation == .leaseFromTheEnd, replica.renews {
                replica.leaseUntil = replica.leaseUntil.advanced(by: self.now - replica.pollStartedAt)
            }
        case .fence(let contents):
            self.schedule(self.upTo(.milliseconds(50)), index, .fence(contents))
        case .readReplica, .writeReplica, .readLog, .place, .leave:
            self.schedule(self.storeTime(), index, .perform(action))
        }
    }

    /// Calls the store and schedules the result.
    private mutating func perform(_ action: KillMachine.PollAction, _ index: Int) async {
        let replica = self.replicas[index]
        let event: @Sendable (inout KillMachine) -> KillMachine.PollAction
        switch action {
        case .leave:
            event = { $0.didLeave(true) }
        case .readReplica(let id):
            let result = await Self.result { () async throws(StoreError) in try await replica.vault.read(id) }
            event = { $0.didReadReplica(result) }
        case .writeReplica(let record, let id, let version, let expecting):
            let result = await replica.vault.write(record, for: id, as: version, expecting: expecting)
            event = { $0.didWriteReplica(result) }
        case .readLog(let last):
            let result = await Self.result { () async throws(StoreError) in
                try await replica.log.read(behind: last)
            }
            let (known, isBlind) = (replica.machine.log.contents, self.mutation == .nothingIsRestored)
            event = { $0.didReadLog(isBlind ? result.map { Self.blind($0, known) } : result) }
        case .place(let entry, let epoch):
            let result = await Self.result { () async throws(StoreError) in
                try await replica.log.place(entry, at: epoch)
            }
            // An entry placed at a number that is already folded is in no log. Its replica finds that out if it still
            // runs.
            let folded = (try? await KillLog(self.records).foldedUpTo()) ?? .start
            if case .success(.written) = result, folded < epoch { self.placed.insert(entry.id) }
            event = { $0.didPlace(result) }
        case .fence, .end: return
        }
        self.schedule(self.storeTime(), index, .answer(event))
    }

    /// The reading as a replica uses it that does not notice lost entries.
    private static func blind(_ reading: KillLog.Reading, _ known: KillLogContents) -> KillLog.Reading {
        switch reading {
        case .tail(let entries) where entries.isEmpty: .whole(known)
        case .whole(let read) where read.last < known.last: .whole(known)
        case .tail, .whole: reading
        }
    }

    private mutating func fence(_ index: Int, by contents: KillLogContents) {
        let replica = self.replicas[index]
        let epochs = replica.machine.log.fencing(by: contents)
        replica.fenced = epochs
        let (kills, _) = replica.machine.log.fenced(by: contents, epochs, draining: 0)
        for kill in kills where replica.watched.insert(kill.epoch).inserted {
            self.schedule(self.upTo(.seconds(1)), index, .look(kill.epoch))
        }
    }

    private mutating func kill(_ index: Int) {
        let replica = self.replicas[index]
        let entry = KillEntry(.kill, .all, reason: "", at: self.moment.wall)
        _ = replica.machine.log.pendingKill(PendingKill(entry: entry))
        self.ordered[entry.id] = replica.incarnation
        self.fence(index, by: replica.machine.log.contents)
        self.schedule(self.storeTime(), index, .raise(entry, at: replica.machine.log.epochs.last.next))
    }

    private mutating func fold(_ index: Int) async {
        let replica = self.replicas[index]
        let keeper = KillLogKeeper(replica.log, replica.vault, fewest: 2)
        guard let epoch = try? await keeper.fold(replica.machine.log) else { return }
        self.folds += 1
        replica.machine.log.fold(upTo: epoch)
    }

    private mutating func raise(_ entry: KillEntry, at epoch: Epoch, _ index: Int) async {
        let replica = self.replicas[index]
        do throws(StoreError) {
            if epoch > .start.next, try await replica.log.entry(Epoch(epoch.rawValue - 1)) == nil {
                throw StoreError(.unreachable, "it was lost, or the read is stale")
            }
            guard try await replica.log.place(entry, at: epoch) != .taken else {
                return self.schedule(self.storeTime(), index, .raise(entry, at: epoch.next))
            }
            if let folded = try await replica.log.foldedUpTo(), folded >= epoch {
                return self.schedule(self.storeTime(), index, .raise(entry, at: folded.next))
            }
            self.placed.insert(entry.id)
        } catch {
            if entry.kind == .kill {
                // The kill is reported as pending. It ends with its process.
                if self.mutation == .ordersAreDropped { replica.machine.log.withdraw(entry.id) }
                replica.machine.log.note(pendingKill: entry.id) { $0.cause = error.code }
            }
        }
    }

    private mutating func wait(for epoch: Epoch, _ action: KillMachine.WaitAction, _ index: Int) async {
        let replica = self.replicas[index]
        var next: KillMachine.WaitAction?
        do throws(StoreError) {
            switch action {
            case .list(let id):
                if let version = try await replica.log.version(of: id, at: epoch) {
                    let listing = try await replica.vault.list()
                    next = replica.machine.didList(listing, behind: version, for: epoch, at: self.instant)
                }
            case .read(let ids):
                for id in ids {
                    replica.machine.saw(try await replica.vault.read(id), id, for: epoch, at: self.instant)
                }
                next = replica.machine.wait(for: epoch)
            case .expel(let silent):
                for entry in silent {
                    switch await replica.vault.expel(entry) {
                    case .stands: replica.machine.expelled(entry.id, for: epoch)
                    case .conflict(let found): replica.machine.saw(found, entry.id, for: epoch, at: self.instant)
                    case .failed: break
                    }
                }
                next = replica.machine.wait(for: epoch)
                if case .expel = next { next = nil }
            case .check(let id, let listed):
                let version = try await replica.log.version(of: id, at: epoch)
                if let version, version != listed, version != KillLog.foldedVersion {
                    replica.machine.entryWasRewritten(epoch)
                } else if version != nil {
                    replica.machine.log.note(kill: epoch) { $0.isEnded = true }
                    self.complete[id] = epoch
                    return
                }
            case .lookForEnd, .nothing: break
            }
        } catch {
            next = nil
        }
        if let next, next != .lookForEnd, next != .nothing {
            self.schedule(self.storeTime(), index, .wait(epoch, next))
        } else {
            self.schedule(.seconds(1), index, .look(epoch))
        }
    }

    private static func result<Value: Sendable>(
        _ body: () async throws(StoreError) -> Value
    ) async -> Result<Value, StoreError> {
        do throws(StoreError) { return .success(try await body()) } catch { return .failure(error) }
    }

    // MARK: - Chance and time

    private func newReplica(_ index: Int) -> SimulatedReplica {
        let store = self.shared.connect()
        let (chance, weather, mutation) = (self.chance, self.weather, self.mutation)
        store.fail { call in
            guard chance.hasFaults else { return .none }
            if chance.happens(weather.isStale), call.operation == .read || call.operation == .records {
                let commits = 1 + chance.number(below: 12)
                return mutation == .forgetfulStore ? .forgetful(commits: commits) : .stale(commits: commits)
            }
            guard chance.happens(weather.storeFails) else { return .none }
            return [.away, .unanswered, .late(calls: chance.number(below: 30)), .full][chance.number(below: 4)]
        }
        return SimulatedReplica(index, self.records, store, self.mutation)
    }

    private mutating func begin(_ index: Int) {
        self.schedule(self.upTo(.seconds(2)), index, .poll)
        self.schedule(.seconds(2) + self.upTo(.seconds(2)), index, .read)
        for _ in 0..<2 { self.schedule(.seconds(3) + self.upTo(.seconds(40)), index, .kill) }
        self.schedule(.seconds(3) + self.upTo(.seconds(40)), index, .revive)
        self.schedule(.seconds(3) + self.upTo(.seconds(10)), index, .fold)
        self.schedule(.seconds(3) + self.upTo(.seconds(40)), index, .lock)
    }

    var instant: BootInstant { self.moment.boot }

    private var moment: Moment {
        Moment(
            boot: BootInstant(nanoseconds: 0).advanced(by: self.now),
            wall: WallTime(millisecondsSince1970: 0).advanced(by: self.now)
        )
    }

    private mutating func happens(_ probability: Double) -> Bool {
        self.chance.hasFaults = self.hasFaults
        return self.hasFaults && self.chance.happens(probability)
    }

    private func upTo(_ longest: Duration) -> Duration { longest * self.chance.fraction }

    /// Usually short, sometimes as long as a store may take.
    private func storeTime() -> Duration {
        self.upTo(self.hasFaults && self.chance.happens(self.weather.storeFails) ? .seconds(2) : .milliseconds(20))
    }

    private mutating func schedule(_ delay: Duration, _ index: Int, _ step: Step) {
        self.timetable.add((index, self.replicas[index].incarnation, step), at: self.now + delay)
    }
}
