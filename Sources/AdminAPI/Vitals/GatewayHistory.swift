package import TokenModel

/// What a process did within its last hour.
package struct GatewayHistory: Equatable, Sendable {
    /// How long an interval is unless the process was suspended in it.
    package let interval: Duration
    /// The oldest first; those of the last hour, or since the process started.
    package let samples: [Sample]

    package init(interval: Duration, samples: [Sample]) {
        self.interval = interval
        self.samples = samples
    }

    /// What happened within one interval.
    package struct Sample: Equatable, Sendable {
        /// The end of the interval. It began at the end of the previous one.
        package var end: WallTime
        /// Requests of callers that ended.
        package var requests: UInt64
        /// Those that got a response of the class 4xx.
        package var clientErrors: UInt64
        /// Those that got a response of the class 5xx, from an upstream or from Martlet.
        package var serverErrors: UInt64
        /// Token requests to providers that brought tokens.
        package var refreshes: UInt64
        /// All other token requests.
        package var refreshFailures: UInt64
        /// The most requests that waited for a token at once.
        package var waiters: Int

        package init(
            end: WallTime,
            requests: UInt64,
            clientErrors: UInt64,
            serverErrors: UInt64,
            refreshes: UInt64,
            refreshFailures: UInt64,
            waiters: Int
        ) {
            self.end = end
            self.requests = requests
            self.clientErrors = clientErrors
            self.serverErrors = serverErrors
            self.refreshes = refreshes
            self.refreshFailures = refreshFailures
            self.waiters = waiters
        }
    }
}
