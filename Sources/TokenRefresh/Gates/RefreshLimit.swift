package import TokenModel

/// Limits how often one account may be refreshed: once per half of its token's lifetime or 5 times in 30 s, whichever
/// allows more. It stops loops that nothing else detects, such as an issuer whose tokens expire at once.
package struct RefreshLimit: Equatable, Sendable {
    private var recent: [BootInstant] = []

    package init() {}

    private static let burst = 5
    private static let window = Duration.seconds(30)
    /// A lifetime of zero must not lift the limit.
    private static let shortestSpacing = Duration.seconds(1)

    /// Counts another refresh at `now` if it is allowed.
    ///
    /// - Parameter lifetime: the current access token's lifetime; `nil` if there is no access token.
    /// - Returns: `nil` if the refresh is allowed, otherwise how long to wait.
    package mutating func admit(lifetime: Duration?, now: BootInstant) -> Duration? {
        self.recent.removeAll { $0.duration(to: now) >= Self.window }
        if self.recent.count >= Self.burst, let oldest = self.recent.first, let latest = self.recent.last {
            let byWindow = Self.window - oldest.duration(to: now)
            let byLifetime = lifetime.map { max($0 / 2, Self.shortestSpacing) - latest.duration(to: now) }
            let wait = min(byWindow, byLifetime ?? byWindow)
            guard wait <= .zero else { return wait }
            self.recent.removeFirst()
        }
        self.recent.append(now)
        return nil
    }

    /// Takes the last refresh back, since nothing was sent to the provider.
    package mutating func giveBack() {
        _ = self.recent.popLast()
    }
}

<<<<<<< HEAD
/// Spreads the requests to one provider over time with a token bucket, which fills at the configured rate. Each request
/// takes one token from it. A request that finds the bucket empty gets a moment in the future; no two such requests get
/// the same moment.
package struct RefreshBucket: Equatable, Sendable {
    /// When a request may be sent.
    package enum Place: Equatable, Sendable {
        /// The request may be sent at this moment, or now if the moment has passed.
        case at(BootInstant)
        /// The request would have to wait longer than it can. Nothing is taken.
        case none(retryAfter: Duration)
    }

    package let rate: RefreshRate
    /// When the bucket would be full if nothing more were taken.
    private var fullAt = BootInstant.distantPast

    package init(_ rate: RefreshRate) {
        self.rate = rate
    }

    /// Rounded up, so that the rate is never exceeded.
    private var interval: Duration {
        .nanoseconds((1_000_000_000 + Int64(self.rate.perSecond) - 1) / Int64(self.rate.perSecond))
    }

    /// Takes one token, in advance if the bucket is empty.
    ///
    /// - Parameter patience: the longest time that the request can wait.
    package mutating func take(patience: Duration, now: BootInstant) -> Place {
        let fullAt = max(self.fullAt, now)
        let moment = fullAt.advanced(by: .zero - self.interval * (self.rate.burst - 1))
        let wait = now.duration(to: moment)
        guard wait <= patience else { return .none(retryAfter: wait - patience) }
        self.fullAt = fullAt.advanced(by: self.interval)
        return .at(max(moment, now))
    }

    /// How long a request would have to wait behind those that have taken a token and `others` that have not yet.
    package func wait(behind others: Int, now: BootInstant) -> Duration {
        let fullAt = max(self.fullAt, now)
        return max(now.duration(to: fullAt) - self.interval * (self.rate.burst - 1 - others), .zero)
    }

    /// Puts one token back, since its request is not sent.
    package mutating func giveBack() {
        self.fullAt = self.fullAt.advanced(by: .zero - self.interval)
    }

    /// Whether at least half of the burst could be sent at once.
    package func isRelieved(at now: BootInstant) -> Bool {
        now.duration(to: self.fullAt) <= self.interval * (self.rate.burst / 2)
    }
}

=======
>>>>>>> h-revoke
/// The maximum rate at which a process sends token requests to one provider.
package typealias RefreshRate = RequestRate
