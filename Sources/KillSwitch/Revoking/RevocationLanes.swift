internal import Synchronization
internal import TokenModel

/// Which providers are asked to revoke tokens right now, how often, and how that goes.
///
///     begin ──▶ running ──end──▶ idle ──begin──▶ …       (at most one run of a lane at once)
///                  └── too many failures in a row: paused until the next try
struct RevocationLanes: Sendable {
    private struct Lane {
        var isRunning = false
        /// There may be new tokens since the run began, or since it has looked last.
        var isRung = false
        var bucket: RequestBucket?
        var begunAt = BootInstant.distantPast
        var asked = 0
        /// How many runs in a row have ended because the provider could not be asked.
        var failures = 0
        var pausedUntil = BootInstant.distantPast
        var nextTry: BootInstant?
        /// The kills that have tokens here; `nil` if that is unknown.
        var open: Set<Epoch>?
        var warnings = 0
    }

    /// How a run of a lane has gone.
    struct Run: Equatable, Sendable {
        /// When a token is due that is not due now.
        var next: BootInstant?
        /// The same, of tokens whose provider can be asked.
        var nextTry: BootInstant?
        /// The kills whose tokens still wait.
        var open: Set<Epoch> = []
        /// How many tries have failed in a row because of the provider.
        var misses = 0
        var hasSucceeded = false
        /// Whether all tokens were looked at.
        var isWhole = true

        /// The provider does not respond, or refuses the client: asking it about the other tokens is of no use now.
        var isStopped: Bool { self.misses >= Self.mostMisses }
        private static let mostMisses = 16

        mutating func wait(until due: BootInstant, hasTarget: Bool) {
            self.next = min(self.next ?? due, due)
            if hasTarget { self.nextTry = min(self.nextTry ?? due, due) }
        }

        /// Begins with the first token again.
        mutating func begin() {
            (self.next, self.nextTry, self.open, self.isWhole) = (nil, nil, [], true)
        }
    }

    private var lanes: [RevocationLane: Lane] = [:]

    /// After each of its first warnings an operator knows; the report counts the tokens, and the API lists them.
    private static let mostWarnings = 100
    /// A rate is measured for at least this long.
    private static let measuredFor = Duration.seconds(5)

    /// Takes note of the lanes that have tokens.
    ///
    /// - Returns: those to run now.
    mutating func begin(_ found: [RevocationLane], now: BootInstant) -> [RevocationLane] {
        let there = Set(found)
        self.lanes = self.lanes.filter { $0.value.isRunning || there.contains($0.key) }
        return found.filter { name in
            var lane = self.lanes[name] ?? Lane()
            defer { self.lanes[name] = lane }
            lane.isRung = lane.isRunning
            guard !lane.isRunning, lane.pausedUntil <= now else { return false }
            lane.isRunning = true
            (lane.begunAt, lane.asked, lane.open, lane.nextTry) = (now, 0, nil, nil)
            return true
        }
    }

    func isRung(_ lane: RevocationLane) -> Bool { self.lanes[lane]?.isRung == true }

    mutating func hush(_ lane: RevocationLane) { self.lanes[lane]?.isRung = false }

    /// When the next request may be sent.
    mutating func turn(of lane: RevocationLane, _ rate: RequestRate, now: BootInstant) -> BootInstant {
        var bucket = self.lanes[lane]?.bucket ?? RequestBucket(rate)
        if bucket.rate != rate { bucket = RequestBucket(rate) }
        let moment = bucket.take(now: now)
        self.lanes[lane]?.bucket = bucket
        self.lanes[lane]?.asked += 1
        return moment
    }

    /// Another process has asked, or has settled the token.
    mutating func giveBack(_ lane: RevocationLane) {
        self.lanes[lane]?.bucket?.giveBack()
        self.lanes[lane]?.asked -= 1
    }

    /// How many runs in a row have failed.
    func failures(_ lane: RevocationLane) -> Int { self.lanes[lane]?.failures ?? 0 }

    /// Whether a failure is worth a warning of its own.
    mutating func mayWarn(_ name: RevocationLane) -> Bool {
        guard var lane = self.lanes[name] else { return true }
        defer { self.lanes[name] = lane }
        lane.warnings += 1
        return lane.warnings <= Self.mostWarnings
    }

    /// - Parameter pause: how long to wait after that many failures in a row.
    /// - Returns: when to run the lane again; `nil` where no token waits.
    mutating func end(
        _ name: RevocationLane,
        _ run: Run,
        pause: (_ failures: Int) -> Duration,
        now: BootInstant
    ) -> BootInstant? {
        guard var lane = self.lanes[name] else { return run.next }
        defer { self.lanes[name] = lane }
        lane.isRunning = false
        lane.nextTry = run.nextTry
        lane.open = run.isWhole ? run.open : nil
        if run.hasSucceeded { lane.failures = 0 }
        if run.isStopped {
            lane.failures += 1
            lane.pausedUntil = now.advanced(by: pause(lane.failures))
            lane.nextTry = lane.pausedUntil
            return lane.pausedUntil
        }
        if lane.isRung { return now }
        return run.next
    }

    /// The kills that have tokens left to revoke; `nil` while that is not known.
    var open: Set<Epoch>? {
        var open: Set<Epoch> = []
        for lane in self.lanes.values {
            guard !lane.isRunning, let more = lane.open else { return nil }
            open.formUnion(more)
        }
        return open
    }

    /// When a provider is asked again that could not be asked.
    func nextTry(_ lane: RevocationLane) -> BootInstant? { self.lanes[lane]?.nextTry }

    /// How many tokens a second are revoked here, as configured or, if that is less, as measured; `nil` while the provider
    /// is not asked.
    func speed(_ name: RevocationLane, now: BootInstant) -> Double? {
        guard let lane = self.lanes[name], lane.isRunning, lane.failures == 0, let rate = lane.bucket?.rate else {
            return nil
        }
        let (limit, age) = (Double(rate.perSecond), lane.begunAt.duration(to: now))
        guard age >= Self.measuredFor else { return limit }
        return min(limit, max(Double(lane.asked), 1) / (age / .seconds(1)))
    }
}

/// The lanes of one process, for all its tasks.
final class LockedLanes: Sendable {
    private let lanes = Mutex(RevocationLanes())

    func look<Value: Sendable>(_ body: (RevocationLanes) -> Value) -> Value { self.lanes.withLock { body($0) } }

    @discardableResult
    func change<Value: Sendable>(_ body: (inout RevocationLanes) -> Value) -> Value {
        self.lanes.withLock { body(&$0) }
    }
}
