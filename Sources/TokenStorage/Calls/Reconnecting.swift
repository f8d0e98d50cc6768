internal import TokenModel

/// The pauses between attempts of a driver to connect: none after a long time without one, then 50 ms, doubling to 1 s,
/// each spread at random over its upper half.
///
/// Without the spread, all replicas would come back to a server at the same moments.
package struct Backoff: Sendable {
    private static let first = Duration.milliseconds(50)
    private static let longest = Duration.seconds(1)
    /// A connection that held for this long was good.
    private static let goodTime = Duration.seconds(5)

    private var pause = Duration.zero
    private var connectedAt: ContinuousClock.Instant?

    package init() {}

    /// The pause before the attempt that comes now.
    package mutating func next(at now: ContinuousClock.Instant) -> Duration {
        if let connectedAt, connectedAt.duration(to: now) > Self.goodTime { self.pause = .zero }
        self.connectedAt = nil
        defer { self.pause = min(max(self.pause * 2, Self.first), Self.longest) }
        return self.pause * Double.drawn(in: 0.5...1)
    }

    /// Notes that an attempt has succeeded.
    package mutating func succeeded(at now: ContinuousClock.Instant) { self.connectedAt = now }
}

/// Which hosts of a database failed last. Those are tried last.
package struct HostFailures: Sendable {
    private var failures: [String: UInt64] = [:]
    private var count: UInt64 = 0

    package init() {}

    package mutating func failed(_ host: String) {
        self.count += 1
        self.failures[host] = self.count
    }

    package mutating func succeeded(_ host: String) { self.failures[host] = nil }

    /// The hosts in the order in which they are tried.
    package func order<Host>(of hosts: [Host], named name: (Host) -> String) -> [Host] {
        let order = hosts.indices.sorted { left, right in
            let (first, second) = (self.failures[name(hosts[left])] ?? 0, self.failures[name(hosts[right])] ?? 0)
            return first == second ? left < right : first < second
        }
        return order.map { hosts[$0] }
    }
}
