package import TokenModel

/// What was counted of requests, by event loops or by all of them together, and the connections there are.
package struct TrafficCounts: Sendable {
    /// By the routes' places in the configuration, counted from 1; at 0 are requests that no route matched.
    package private(set) var routes: [RouteCounts]
    /// Callers' connections, now.
    package var downstreamConnections = 0
    /// Connections to upstreams, now; those that are being made count.
    package var upstreamConnections = 0

    /// - Parameter routes: how many the configuration has.
    package init(routes: Int) {
        self.routes = Array(repeating: RouteCounts(), count: routes + 1)
    }

    /// Makes room for routes that come behind those there are.
    mutating func grow(routes: Int) {
        let more = routes + 1 - self.routes.count
        if more > 0 { self.routes += Array(repeating: RouteCounts(), count: more) }
    }

    /// Counts a request that is over.
    mutating func add(_ record: RequestRecord) {
        guard self.routes.indices.contains(record.route) else { return }
        self.routes[record.route].add(record)
    }

    /// A head left with a token.
    mutating func addInjection(route: Int) {
        guard self.routes.indices.contains(route) else { return }
        self.routes[route].injections &+= 1
    }

    /// Adds what another has counted of the same configuration, or of one before or after it.
    package mutating func add(_ other: TrafficCounts) {
        self.grow(routes: other.routes.count - 1)
        for index in other.routes.indices { self.routes[index].add(other.routes[index]) }
        self.downstreamConnections += other.downstreamConnections
        self.upstreamConnections += other.upstreamConnections
    }
}

/// What was counted of one route's requests.
package struct RouteCounts: Sendable {
    private var statusClasses = InlineArray<7, UInt64>(repeating: 0)
    private var replays = InlineArray<5, UInt64>(repeating: 0)
    package private(set) var durations = DurationCounts()
    /// Heads that left with a token; a request that is sent again leaves twice.
    package internal(set) var injections: UInt64 = 0

    package init() {}

    package subscript(statusClass: StatusClass) -> UInt64 { self.statusClasses[statusClass.rawValue] }

    package subscript(outcome: ReplayOutcome) -> UInt64 { self.replays[outcome.rawValue] }

    /// Counts a request that is over.
    package mutating func add(_ record: RequestRecord) {
        self.statusClasses[StatusClass(status: record.status).rawValue] &+= 1
        self.durations.add(nanoseconds: record.endedAt.nanoseconds &- record.startedAt.nanoseconds)
        if let outcome = ReplayOutcome(record.replay) { self.replays[outcome.rawValue] &+= 1 }
    }

    /// Adds what another has counted.
    package mutating func add(_ other: RouteCounts) {
        for index in self.statusClasses.indices { self.statusClasses[index] &+= other.statusClasses[index] }
        for index in self.replays.indices { self.replays[index] &+= other.replays[index] }
        self.durations.add(other.durations)
        self.injections &+= other.injections
    }
}

/// What kind of answer a request got: the label of a metric.
package enum StatusClass: Int, CaseIterable, Sendable {
    /// The caller went, or was cut off, before an answer began.
    case none
    /// A connection that went over to another protocol, and has ended: 101 is the only such final answer.
    case switched
    case successful, redirection, callerError, serverError
    /// None of those that RFC 9110 §15 has for final answers.
    case other

    /// - Parameter status: 0 where there was no answer.
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

    /// As Prometheus is told.
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

/// How often something took how long: the numbers of a histogram.
package struct DurationCounts: Sendable {
    /// The buckets' upper bounds in microseconds; past the last there is one more bucket.
    package static let bounds: [Int64] = [
        500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
        1_000_000, 2_500_000, 5_000_000, 10_000_000, 30_000_000,
    ]

    /// One per bucket, each without those below it.
    private var counts = InlineArray<16, UInt64>(repeating: 0)
    /// Of all durations, in nanoseconds.
    private var nanoseconds: UInt64 = 0

    package init() {}

    /// Counts one more. A negative duration counts as none at all: a clock that is read twice may be a little off.
    package mutating func add(nanoseconds: Int64) {
        let nanoseconds = max(nanoseconds, 0)
        var bucket = 0
        while bucket < Self.bounds.count, nanoseconds > Self.bounds[bucket] &* 1_000 { bucket += 1 }
        self.counts[bucket] &+= 1
        self.nanoseconds &+= UInt64(nanoseconds)
    }

    /// Adds what another has counted.
    package mutating func add(_ other: DurationCounts) {
        for bucket in self.counts.indices { self.counts[bucket] &+= other.counts[bucket] }
        self.nanoseconds &+= other.nanoseconds
    }

    /// How many took no longer than each bound, and at the end how many there were.
    package var cumulative: [UInt64] {
        var sum: UInt64 = 0
        return self.counts.indices.map { bucket in
            sum &+= self.counts[bucket]
            return sum
        }
    }

    /// Of all durations.
    package var seconds: Double { Double(self.nanoseconds) / 1e9 }
}

/// Counts the requests of one event loop, and hands them to the access log.
///
/// It belongs to its loop: nobody else touches it, so there is neither a lock nor an atomic, and whoever wants the counts
/// asks on the loop. Make it there too, so that what it writes to lies in memory of that thread's own.
package final class LoopMeter {
    /// All that was counted so far.
    package private(set) var counts: TrafficCounts
    private var accessLog: AccessLane?

    /// - Parameters:
    ///   - routes: their names, in the order of the configuration.
    ///   - log: takes a line per request; `nil` writes none.
    package init(routes: [String], log: LogWriter?) {
        self.counts = TrafficCounts(routes: routes.count)
        self.accessLog = log.map { AccessLane(to: $0, routes: routes) }
    }

    /// Goes by another configuration.
    ///
    /// - Parameters:
    ///   - routes: begin with those there were, so that what was counted stays where it is.
    ///   - log: takes a line per request from now on.
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

    /// A head left with a token.
    ///
    /// - Parameter route: as in ``RequestRecord/route``.
    package func injected(route: Int) {
        self.counts.addInjection(route: route)
    }

    /// A request is over. Once per request.
    package func ended(_ record: consuming RequestRecord, at now: BootInstant) {
        record.endedAt = now
        self.counts.add(record)
        self.accessLog?.append(record)
    }

    /// Hands on what waits here for the access log. To be called now and then, since single requests wait for more.
    package func handOn() {
        self.accessLog?.handOn()
    }

    /// The loop is about to end: from now on nothing waits here.
    package func close() {
        self.accessLog?.close()
    }
}
