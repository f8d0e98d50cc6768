package import TokenModel

/// What a process has done since it started, as its counters say.
package struct TrafficTotals: Equatable, Sendable {
    /// Requests of callers that have ended, whatever came of them.
    package var requests: UInt64 = 0
    /// Those that got a response of the class 4xx.
    package var clientErrors: UInt64 = 0
    /// Those that got a response of the class 5xx, from an upstream or from this process.
    package var serverErrors: UInt64 = 0
    /// Token requests to providers that brought tokens.
    package var refreshes: UInt64 = 0
    /// All other token requests, including those that could not be sent.
    package var refreshFailures: UInt64 = 0

    package init() {}

    /// Sums up the counters behind the metrics.
    package init(_ traffic: TrafficCounts, _ providers: [RefreshMeter.Provider]) {
        for route in traffic.routes {
            for statusClass in StatusClass.allCases { self.requests &+= route[statusClass] }
            self.clientErrors &+= route[.callerError]
            self.serverErrors &+= route[.serverError]
        }
        for (name, count) in providers.flatMap(\.outcomes) {
            if name == Self.success { self.refreshes &+= count } else { self.refreshFailures &+= count }
        }
    }

    /// The outcome of a token request that brought tokens.
    private static let success = "success"

    /// What was added since an earlier reading. A counter that was read too low counts as unchanged.
    func since(_ earlier: TrafficTotals) -> TrafficTotals {
        func added(_ count: KeyPath<TrafficTotals, UInt64>) -> UInt64 {
            max(self[keyPath: count], earlier[keyPath: count]) - earlier[keyPath: count]
        }
        var change = TrafficTotals()
        change.requests = added(\.requests)
        change.clientErrors = added(\.clientErrors)
        change.serverErrors = added(\.serverErrors)
        change.refreshes = added(\.refreshes)
        change.refreshFailures = added(\.refreshFailures)
        return change
    }
}

/// The last hour of one process in intervals of 15 seconds, for the pictures of the dashboard.
///
/// Someone looks every second with ``look(at:waiters:)``. When that returns `true`, ``endInterval(at:_:)`` follows with
/// the counters. Reading those costs more, and the number of waiters may have a short peak between two readings.
///
/// An interval takes longer if nobody looks, as while the process is suspended. It then is one sample, whose end is the
/// true one.
package struct TrafficHistory: Sendable {
    package static let interval = Duration.seconds(15)
    /// An hour of samples.
    package static let capacity = 240

    /// What happened within one interval.
    package struct Sample: Equatable, Sendable {
        /// The end of the interval. It began at the end of the previous one.
        package let end: BootInstant
        /// What the counters rose by.
        package let counts: TrafficTotals
        /// The most requests that were seen waiting for a token at once.
        package let waiters: Int

        package init(end: BootInstant, counts: TrafficTotals, waiters: Int) {
            self.end = end
            self.counts = counts
            self.waiters = waiters
        }
    }

    /// The oldest first; at most ``capacity``.
    package private(set) var samples: [Sample] = []
    private var totals: TrafficTotals
    private var waiters = 0
    private var due: BootInstant

    /// - Parameter totals: the counters at `now`, where the first interval begins.
    package init(at now: BootInstant, _ totals: TrafficTotals = TrafficTotals()) {
        self.totals = totals
        self.due = now.advanced(by: Self.interval)
    }

    /// Notes how many requests wait for a token now.
    ///
    /// - Returns: whether the interval is over.
    package mutating func look(at now: BootInstant, waiters: Int) -> Bool {
        self.waiters = max(self.waiters, waiters)
        return now >= self.due
    }

    /// Ends the interval and begins the next one. Drops the oldest sample if there are too many.
    package mutating func endInterval(at now: BootInstant, _ totals: TrafficTotals) {
        if self.samples.count == Self.capacity { self.samples.removeFirst() }
        self.samples.append(Sample(end: now, counts: totals.since(self.totals), waiters: self.waiters))
        self.totals = totals
        self.waiters = 0
        // Small delays don't add up. After a long one, an interval of a moment would say little.
        self.due = self.due.advanced(by: Self.interval)
        if now.duration(to: self.due) < Self.interval / 2 { self.due = now.advanced(by: Self.interval) }
    }
}
