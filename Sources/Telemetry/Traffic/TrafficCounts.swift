package import TokenModel

/// Counts of requests, from one event loop or from all, and the number of open connections.
package struct TrafficCounts: Sendable {
    /// By the routes' positions in the configuration, counted from 1. Index 0 counts requests that matched no route.
    package private(set) var routes: [RouteCounts]
    /// Open connections from callers.
    package var downstreamConnections = 0
    /// Connections to upstreams, including those being opened.
    package var upstreamConnections = 0

    /// - Parameter routes: how many the configuration has.
    package init(routes: Int) {
        self.routes = Array(repeating: RouteCounts(), count: routes + 1)
    }

    /// Makes room for routes that are added after the present ones.
    mutating func grow(routes: Int) {
        let more = routes + 1 - self.routes.count
        if more > 0 { self.routes += Array(repeating: RouteCounts(), count: more) }
    }

    /// Counts a request that has ended.
    mutating func add(_ record: RequestRecord) {
        guard self.routes.indices.contains(record.route) else { return }
        self.routes[record.route].add(record)
    }

    /// Counts a request head that was sent with a token.
    mutating func addInjection(route: Int) {
        guard self.routes.indices.contains(route) else { return }
        self.routes[route].injections &+= 1
    }

    /// Adds counts from the same configuration, or from an earlier or later one.
    package mutating func add(_ other: TrafficCounts) {
        self.grow(routes: other.routes.count - 1)
        for index in other.routes.indices { self.routes[index].add(other.routes[index]) }
        self.downstreamConnections += other.downstreamConnections
        self.upstreamConnections += other.upstreamConnections
    }
}

/// The counts of one route's requests.
package struct RouteCounts: Sendable {
    private var statusClasses = InlineArray<7, UInt64>(repeating: 0)
    private var replays = InlineArray<5, UInt64>(repeating: 0)
    private var cacheOutcomes = InlineArray<3, UInt64>(repeating: 0)
    package private(set) var durations = DurationCounts()
    /// Request heads sent with a token. A replayed request counts twice.
    package internal(set) var injections: UInt64 = 0

    package init() {}

    package subscript(statusClass: StatusClass) -> UInt64 { self.statusClasses[statusClass.rawValue] }

    package subscript(outcome: ReplayOutcome) -> UInt64 { self.replays[outcome.rawValue] }

    package subscript(outcome: CacheOutcome) -> UInt64 { self.cacheOutcomes[outcome.rawValue] }

    /// Counts a request that has ended.
    package mutating func add(_ record: RequestRecord) {
        self.statusClasses[StatusClass(status: record.status).rawValue] &+= 1
        self.durations.add(nanoseconds: record.endedAt.nanoseconds &- record.startedAt.nanoseconds)
        if let outcome = ReplayOutcome(record.replay) { self.replays[outcome.rawValue] &+= 1 }
        if let outcome = record.cache { self.cacheOutcomes[outcome.rawValue] &+= 1 }
    }

    /// Adds the counts of another.
    package mutating func add(_ other: RouteCounts) {
        for index in self.statusClasses.indices { self.statusClasses[index] &+= other.statusClasses[index] }
        for index in self.replays.indices { self.replays[index] &+= other.replays[index] }
        for index in self.cacheOutcomes.indices { self.cacheOutcomes[index] &+= other.cacheOutcomes[index] }
        self.durations.add(other.durations)
        self.injections &+= other.injections
    }
}

/// The class of a request's response: a label of a metric.
package enum StatusClass: Int, CaseIterable, Sendable {
    /// The caller went away, or was cut off, before a response began.
    case none
    /// A connection that switched to another protocol and has ended: 101 is the only final response of this class.
    case switched
    case successful, redirection, callerError, serverError
    /// Outside the classes that RFC 9110 §15 defines for final responses.
    case other

    /// - Parameter status: 0 if there was no response.
    package init(status: Int) {
        self =
            switch status / 100 {
            case 0: .none
            case 1: .switched
            case 2: .successful
            case 3: .redirection
            case 4: .callerError
            case 5: .serverError
            default: .other
            }
    }

    /// The value of the Prometheus label.
    package var label: String {
        switch self {
        case .none: "none"
        case .switched: "1xx"
        case .successful: "2xx"
        case .redirection: "3xx"
        case .callerError: "4xx"
        case .serverError: "5xx"
        case .other: "other"
        }
    }
}

/// The counts of a histogram of durations.
package struct DurationCounts: Sendable {
    /// The buckets' upper bounds in microseconds. One more bucket follows the last bound.
    package static let bounds: [Int64] = [
        500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
        1_000_000, 2_500_000, 5_000_000, 10_000_000, 30_000_000,
    ]

    /// One count per bucket, without the buckets below it.
    private var counts = InlineArray<16, UInt64>(repeating: 0)
    /// The sum of all durations, in nanoseconds.
    private var nanoseconds: UInt64 = 0

    package init() {}

    /// Counts one duration. A negative one counts as zero: two reads of a clock may be slightly off.
    package mutating func add(nanoseconds: Int64) {
        let nanoseconds = max(nanoseconds, 0)
        var bucket = 0
        while bucket < Self.bounds.count, nanoseconds > Self.bounds[bucket] &* 1_000 { bucket += 1 }
        self.counts[bucket] &+= 1
        self.nanoseconds &+= UInt64(nanoseconds)
    }

    /// Adds the counts of another.
    package mutating func add(_ other: DurationCounts) {
        for bucket in self.counts.indices { self.counts[bucket] &+= other.counts[bucket] }
        self.nanoseconds &+= other.nanoseconds
    }

    /// For each bound, how many durations were no longer; last, how many there were in all.
    package var cumulative: [UInt64] {
        var sum: UInt64 = 0
        return self.counts.indices.map { bucket in
            sum &+= self.counts[bucket]
            return sum
        }
    }

    /// The sum of all durations.
    package var seconds: Double { Double(self.nanoseconds) / 1e9 }
}

/// Counts the requests of one event loop, and hands them to the access log.
///
/// Use it only on its loop: it has neither locks nor atomics, and code that wants the counts asks on the loop. Also
/// create it there, so that its memory belongs to that thread.
package final class LoopMeter {
    /// The counts so far.
    package private(set) var counts: TrafficCounts
    private var accessLog: AccessLane?

    /// - Parameters:
    ///   - routes: the names of the routes, in the order of the configuration.
    ///   - log: takes a line per request; `nil` writes none.
    package init(routes: [String], log: LogWriter?) {
        self.counts = TrafficCounts(routes: routes.count)
        self.accessLog = log.map { AccessLane(to: $0, routes: routes) }
    }

    /// Applies another configuration.
    ///
    /// - Parameters:
    ///   - routes: must begin with the present ones, so that their counts keep their places.
    ///   - log: takes a line per request from now on; `nil` writes none.
    package func reload(routes: [String], log: LogWriter?) {
        self.counts.grow(routes: routes.count)
        guard let log else {
            self.accessLog?.close()
            self.accessLog = nil
            return
        }
        if let lane = self.accessLog {
            lane.routes = routes
        } else {
            self.accessLog = AccessLane(to: log, routes: routes)
        }
    }

    /// Counts a request head that was sent with a token.
    ///
    /// - Parameter route: as in ``RequestRecord/route``.
    package func injected(route: Int) {
        self.counts.addInjection(route: route)
    }

    /// Counts and logs a request that has ended. Call it once per request.
    package func ended(_ record: consuming RequestRecord, at now: BootInstant) {
        record.endedAt = now
        self.counts.add(record)
        self.accessLog?.append(record)
    }

    /// Hands on the requests that wait here for the access log. Call it from time to time, because a batch may stay
    /// incomplete.
    package func handOn() {
        self.accessLog?.handOn()
    }

    /// Hands on what waits, because the loop is about to end. From now on nothing waits here.
    package func close() {
        self.accessLog?.close()
    }
}
