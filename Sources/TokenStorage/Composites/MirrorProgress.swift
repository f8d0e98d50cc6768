package import TokenModel

/// The times that a mirroring store keeps.
package struct MirrorTiming: Sendable {
    /// How long a caller waits for the mirrors after its write to the primary. Two seconds are the limit of a call.
    package var patience = Duration.seconds(1)
    /// How long after a failed write a comparison may begin that shows a mirror to be complete: a write whose outcome is
    /// unknown may land late.
    package var settling = Duration.seconds(5)
    /// How long after a mirror was caught up it is compared once more.
    package var secondLook = Duration.seconds(60)
    /// How often a mirror is compared that is up to date.
    package var period = Duration.seconds(300)
    /// How often its mark is refreshed.
    package var refresh = Duration.seconds(10)
    /// The wait after the first failed attempt to reach a mirror. It doubles with each.
    package var shortestPause = Duration.milliseconds(250)
    package var longestPause = Duration.seconds(10)

    package init() {}
}

/// The state of one mirror, for status and logs.
package struct MirrorState: Equatable, Sendable {
    package enum Phase: Equatable, Sendable {
        /// It lacks records, or may. It is caught up as soon as it can be reached.
        case behind(since: WallTime)
        case upToDate
        /// Somebody has started from it, so it is a store of its own. Nothing is written to it any more.
        case promoted
        /// It is not a mirror of this store, so nothing is written to it.
        case refused(reason: String)
    }

    /// The name of the mirror in messages, such as the path of its database.
    package let name: String
    package let phase: Phase
    /// When it was last known to have all records; `nil`: not since this process started.
    package let completeAt: WallTime?
}

/// Decides what is written to one mirror, and when it is compared with the primary.
///
///                    comparison begun, and done without a failure
///     behind ────────────────────────────────────────────────────▶ up to date
///        ▲                                                             │
///        └────────────── a call to the mirror fails or is late ────────┘
///
///     any ──▶ promoted (for good)        behind ◀──▶ refused (looked at again)
///
/// A write is sent to a mirror that is up to date. While a mirror that is behind is compared, the keys written meanwhile
/// are noted, because the comparison may have passed them. Otherwise a later comparison finds them.
package struct MirrorProgress: Sendable {
    /// What becomes of a write.
    package enum Route: Equatable, Sendable {
        /// It is sent to the mirror, and its caller waits.
        case send
        /// Its key is noted for the comparison under way, or a later comparison finds it.
        case leave
    }

    /// What is to be done next.
    package enum Due: Equatable, Sendable {
        case now
        case nothing(until: BootInstant)
    }

    package private(set) var phase: MirrorState.Phase
    package private(set) var completeAt: WallTime?
    private let timing: MirrorTiming
    private var nextComparison: BootInstant
    private var nextRefresh: BootInstant
    /// The last write whose outcome is unknown.
    private var doubtfulWrite: BootInstant?
    /// Failed attempts in a row.
    private var failures = 0
    /// The beginning of the comparison under way.
    private var comparing: BootInstant?
    private var failedMeanwhile = false
    private var noted: Set<RecordKey> = []
    /// Whether the mark is to say that the mirror is behind.
    private var owesMark = false

    package init(_ timing: MirrorTiming, at now: Moment) {
        self.timing = timing
        self.phase = .behind(since: now.wall)
        self.nextComparison = now.boot
        self.nextRefresh = now.boot
    }

    private var isBehind: Bool { if case .behind = self.phase { true } else { false } }

    /// A write or removal was acknowledged by the primary, or its outcome there is unknown.
    package mutating func route(_ key: RecordKey) -> Route {
        if self.phase == .upToDate { return .send }
        if self.isBehind, self.comparing != nil { self.noted.insert(key) }
        return .leave
    }

    /// A call to the mirror failed, or did not end in time.
    ///
    /// - Returns: whether the mirror has fallen behind just now.
    package mutating func failed(isWrite: Bool, at now: Moment) -> Bool {
        if isWrite { self.doubtfulWrite = now.boot }
        self.failedMeanwhile = true
        guard self.phase == .upToDate else { return false }
        self.phase = .behind(since: now.wall)
        self.failures = 0
        self.nextComparison = now.boot.advanced(by: self.timing.shortestPause)
        self.owesMark = true
        return true
    }

    /// A key may differ, because the primary could not be read or the outcome of a write to it is unknown. The mirror
    /// has not failed.
    package mutating func doubt(at now: Moment) {
        self.nextComparison = min(self.nextComparison, now.boot.advanced(by: self.timing.settling))
    }

    /// Whether a comparison is due.
    package func comparisonDue(at now: BootInstant) -> Due {
        guard self.phase != .promoted else { return .nothing(until: .distantFuture) }
        let settled = self.doubtfulWrite?.advanced(by: self.timing.settling) ?? .distantPast
        let due = max(self.nextComparison, settled)
        return due <= now ? .now : .nothing(until: due)
    }

    package mutating func beginComparison(at now: Moment) {
        self.comparing = now.boot
        self.failedMeanwhile = false
        self.noted = []
    }

    /// The keys that were written since the last call, during a comparison of a mirror that is behind.
    package mutating func takeNoted() -> Set<RecordKey> {
        defer { self.noted = [] }
        return self.noted
    }

    /// All records were compared. From now on writes are sent, unless a call to the mirror has failed meanwhile.
    ///
    /// - Returns: the keys that are still to be synchronized; `nil` if another comparison is needed.
    package mutating func endComparison(at now: Moment) -> Set<RecordKey>? {
        self.comparing = nil
        guard !self.failedMeanwhile else {
            self.retryLater(at: now)
            return nil
        }
        guard self.isBehind || self.phase == .upToDate else { return nil }
        let pause = self.isBehind ? self.timing.secondLook : self.timing.period
        self.phase = .upToDate
        self.failures = 0
        self.nextComparison = now.boot.advanced(by: pause)
        self.nextRefresh = now.boot.advanced(by: self.timing.refresh)
        return self.takeNoted()
    }

    /// A comparison could not be completed.
    package mutating func comparisonFailed(at now: Moment) {
        self.comparing = nil
        self.noted = []
        self.retryLater(at: now)
    }

    private mutating func retryLater(at now: Moment) {
        self.nextComparison = now.boot.advanced(by: self.pause)
        self.failures += 1
    }

    private var pause: Duration {
        min(self.timing.shortestPause * (1 << min(self.failures, 20)), self.timing.longestPause)
    }

    /// The mirror has all records.
    package mutating func confirmed(at now: Moment) {
        guard self.phase == .upToDate else { return }
        self.completeAt = now.wall
        self.nextRefresh = now.boot.advanced(by: self.timing.refresh)
    }

    /// Whether the mark is to be written.
    package func refreshDue(at now: BootInstant) -> Due {
        if self.owesMark { return .now }
        guard self.phase == .upToDate else { return .nothing(until: now.advanced(by: self.timing.refresh)) }
        return self.nextRefresh <= now ? .now : .nothing(until: self.nextRefresh)
    }

    /// An attempt to write the mark begins. If it fails, the next one follows with the next refresh or comparison.
    ///
    /// - Returns: whether the mark is to say that the mirror is complete.
    package mutating func beginRefresh(at now: Moment) -> Bool {
        self.owesMark = false
        self.nextRefresh = now.boot.advanced(by: self.timing.refresh)
        return self.phase == .upToDate
    }

    package mutating func promoted() {
        self.phase = .promoted
        self.noted = []
    }

    package mutating func refused(_ reason: String, at now: Moment) {
        guard self.phase != .promoted else { return }
        self.phase = .refused(reason: reason)
        self.comparing = nil
        self.noted = []
        self.nextComparison = now.boot.advanced(by: self.timing.longestPause)
    }

    /// The mirror turned out to be one of this store.
    package mutating func accepted(at now: Moment) {
        if case .refused = self.phase { self.phase = .behind(since: now.wall) }
    }
}
