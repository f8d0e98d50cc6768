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
