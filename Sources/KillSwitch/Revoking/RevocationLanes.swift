internal import Synchronization
package import TokenModel

/// Which providers are asked to revoke tokens right now, how often, and how that goes.
///
///     begin ──▶ running ──end──▶ idle ──begin──▶ …       (at most one run of a lane at once)
///                  └── too many failures in a row: paused until the next try
package struct RevocationLanes: Sendable {
    private struct Lane {
        var isRunning = false
        /// There may be new tokens since the run began, or since it has looked last.
        var isRung = false
        var bucket: RequestBucket?
        /// The requests since ``measuredFrom``, and how many a second those before were.
        var asked = 0
        var measuredFrom = BootInstant.distantPast
        var measured: Double?
        /// How many runs in a row have ended because the provider could not be asked.
        var failures = 0
        var pausedUntil = BootInstant.distantPast
        var nextTry: BootInstant?
        /// The kills that have tokens here; `nil` if that is unknown.
        var open: Set<Epoch>?
        var warnings = 0
    }

    /// How a run of a lane has gone.
    package struct Run: Equatable, Sendable {
        /// When a token is due that is not due now.
        package var next: BootInstant?
        /// The same, of tokens whose provider can be asked.
        package var nextTry: BootInstant?
        /// The kills whose tokens still wait.
        package var open: Set<Epoch> = []
        /// How many tries have failed in a row because of the provider.
        package var misses = 0
        /// Whether the provider has responded to the last of the tries, or to one before.
        package var hasSucceeded = false
        /// Whether all tokens were looked at.
        package var isWhole = true

        package init() {}

        /// The provider does not respond, or refuses the client: asking it about the other tokens is of no use now.
        package var isStopped: Bool { self.misses >= Self.mostMisses }
        private static let mostMisses = 16

        /// Notes when another token is due.
        package mutating func wait(until due: BootInstant, hasTarget: Bool) {
            self.next = min(self.next ?? due, due)
            if hasTarget { self.nextTry = min(self.nextTry ?? due, due) }
        }

        /// Begins with the first token again.
        package mutating func begin() {
            (self.next, self.nextTry, self.open, self.isWhole) = (nil, nil, [], true)
        }
    }

    private var lanes: [RevocationLane: Lane] = [:]

    package init() {}

    /// After each of its first warnings an operator knows; the report counts the tokens, and the API lists them.
    private static let mostWarnings = 100
    /// A rate is measured for at least this long.
    private static let measuredFor = Duration.seconds(5)

    /// Takes note of the lanes that have tokens.
    ///
    /// - Returns: those to run now.
    package mutating func begin(_ found: [RevocationLane], now: BootInstant) -> [RevocationLane] {
        let there = Set(found)
        self.lanes = self.lanes.filter { $0.value.isRunning || there.contains($0.key) }
        return found.filter { name in
            var lane = self.lanes[name] ?? Lane()
            defer { self.lanes[name] = lane }
            lane.isRung = lane.isRunning
            guard !lane.isRunning else { return false }
            // The listing may have tokens that the lane's last run has not seen.
            lane.open = nil
            guard lane.pausedUntil <= now else { return false }
            lane.isRunning = true
            (lane.measuredFrom, lane.asked, lane.measured) = (now, 0, nil)
            lane.nextTry = nil
            return true
        }
    }

    /// Whether there may be new tokens.
    package func isRung(_ lane: RevocationLane) -> Bool { self.lanes[lane]?.isRung == true }

    /// The lane's tokens are listed from now on.
    package mutating func hush(_ lane: RevocationLane) { self.lanes[lane]?.isRung = false }

    /// When the next request may be sent.
    package mutating func turn(of name: RevocationLane, _ rate: RequestRate, now: BootInstant) -> BootInstant {
        var lane = self.lanes[name] ?? Lane()
        defer { self.lanes[name] = lane }
        var bucket = lane.bucket ?? RequestBucket(rate)
        bucket.change(to: rate, now: now)
        let moment = bucket.take(now: now)
        lane.bucket = bucket
        lane.asked += 1
        if let speed = Self.speed(of: lane, now: now) {
            (lane.measuredFrom, lane.asked, lane.measured) = (now, 0, speed)
        }
        return moment
    }

    /// As far as it was measured for long enough.
    private static func speed(of lane: Lane, now: BootInstant) -> Double? {
        let age = lane.measuredFrom.duration(to: now)
        return age < Self.measuredFor ? nil : Double(max(lane.asked, 1)) / (age / .seconds(1))
    }

    /// Another process has asked, or has settled the token.
    package mutating func giveBack(_ lane: RevocationLane) {
        self.lanes[lane]?.bucket?.giveBack()
        self.lanes[lane]?.asked -= 1
    }

    /// How many runs in a row have failed.
    package func failures(_ lane: RevocationLane) -> Int { self.lanes[lane]?.failures ?? 0 }

    /// Whether a failure is worth a warning of its own.
    package mutating func mayWarn(_ name: RevocationLane) -> Bool {
        guard var lane = self.lanes[name] else { return true }
        defer { self.lanes[name] = lane }
        lane.warnings += 1
        return lane.warnings <= Self.mostWarnings
    }

    /// The lane has run.
    ///
    /// - Parameter pause: how long to wait after that many failures in a row.
    /// - Returns: when to run the lane again; `nil` where no token waits.
    package mutating func end(
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

    /// Whether a kill has no token left to revoke, as far as is known.
    ///
    /// - Parameter named: the lanes that have had tokens of the kill. While one of them runs, it is not worked off.
    package func isWorkedOff(_ kill: Epoch, in named: Set<RevocationLane>) -> Bool {
        !self.lanes.contains { name, lane in
            let open = lane.isRunning ? nil : lane.open
            return open?.contains(kill) ?? named.contains(name)
        }
    }

    /// When a provider is asked again that could not be asked.
    package func nextTry(_ lane: RevocationLane) -> BootInstant? { self.lanes[lane]?.nextTry }

    /// How many tokens a second are revoked here, as configured or, if that is less, as measured; `nil` while the provider
    /// is not asked.
    package func speed(_ name: RevocationLane, now: BootInstant) -> Double? {
        guard let lane = self.lanes[name], lane.isRunning, lane.failures == 0, let rate = lane.bucket?.rate else {
            return nil
        }
        let limit = Double(rate.perSecond)
        return min(limit, Self.speed(of: lane, now: now) ?? lane.measured ?? limit)
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
