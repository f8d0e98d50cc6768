package import HTTPWire

/// What a proxy serves: where it listens, its routes and its limits.
package struct ProxyPlan: Sendable {
    package var listeners: [Address]
    package var routes: [RoutePlan]
    package var headLimits: HeadLimits
    package var callerTimeouts: CallerTimeouts
    /// Requests that may wait for passes at once.
    package var waiters: Int
    /// How long a request may wait for a pass; whoever gives passes is usually done before.
    package var passTimeout: Duration
    /// Event loops, each with a listening socket per address.
    package var eventLoops: Int

    /// An address to listen on: a host name or IP address, and a port (0: any free one).
    package struct Address: Sendable, Hashable, CustomStringConvertible {
        package var host: String
        package var port: Int

        package init(host: String, port: Int) {
            self.host = host
            self.port = port
        }

        package var description: String {
            self.host.contains(":") ? "[\(self.host)]:\(self.port)" : "\(self.host):\(self.port)"
        }
    }

    package init(
        listeners: [Address],
        routes: [RoutePlan],
        headLimits: HeadLimits = .request,
        callerTimeouts: CallerTimeouts = CallerTimeouts(),
        waiters: Int = 10_000,
        passTimeout: Duration = .seconds(15),
        eventLoops: Int
    ) {
        self.listeners = listeners
        self.routes = routes
        self.headLimits = headLimits
        self.callerTimeouts = callerTimeouts
        self.waiters = waiters
        self.passTimeout = passTimeout
        self.eventLoops = eventLoops
    }
}
