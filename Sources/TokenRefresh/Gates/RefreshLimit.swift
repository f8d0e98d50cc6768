package import TokenModel

/// How often one account may be refreshed: once per half of its token's lifetime, or 5 times in 30 s, whichever
/// allows more. It ends loops that nothing else sees, such as an issuer whose tokens end at once.
package struct RefreshLimit: Equatable, Sendable {
    private var recent: [BootInstant] = []

    package init() {}

    private static let burst = 5
    private static let window = Duration.seconds(30)
    /// A lifetime of nothing must not lift the limit.
    private static let shortestSpacing = Duration.seconds(1)

    /// Counts one more refresh at `now`, if it is allowed.
    ///
    /// - Parameter lifetime: the current access token's; `nil` where there is none.
    /// - Returns: `nil` when allowed, else how long to wait.
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

    /// Takes the last one back: nothing was sent to the provider.
    package mutating func giveBack() {
        _ = self.recent.popLast()
    }
}

/// Spreads the requests to one provider over time, by the rate that it is given: a bucket that fills steadily, and from
/// which each request takes one. Who finds it empty gets a moment in the future, and each its own.
package struct RefreshBucket: Equatable, Sendable {
    /// Where a request stands.
    package enum Place: Equatable, Sendable {
        /// It may go at this moment, or now where that has passed.
        case at(BootInstant)
        /// It would have to wait for longer than it can; nothing is taken.
        case none(retryAfter: Duration)
    }

    package let rate: RefreshRate
    /// When the bucket would be full if nothing more were taken.
    private var fullAt = BootInstant.distantPast

    package init(_ rate: RefreshRate) {
        self.rate = rate
    }

    /// Rounded up, so that no more than the rate goes.
    private var interval: Duration {
        .nanoseconds((1_000_000_000 + Int64(self.rate.perSecond) - 1) / Int64(self.rate.perSecond))
    }

    /// Takes one, ahead of time if need be.
    ///
    /// - Parameter patience: how long the request can wait.
    package mutating func take(patience: Duration, now: BootInstant) -> Place {
        let fullAt = max(self.fullAt, now)
        let moment = fullAt.advanced(by: .zero - self.interval * (self.rate.burst - 1))
        let wait = now.duration(to: moment)
        guard wait <= patience else { return .none(retryAfter: wait - patience) }
        self.fullAt = fullAt.advanced(by: self.interval)
        return .at(max(moment, now))
    }

    /// Puts one back: what it was taken for is not sent.
    package mutating func giveBack() {
        self.fullAt = self.fullAt.advanced(by: .zero - self.interval)
    }

    /// Whether at least half of the burst could go at once.
    package func isRelieved(at now: BootInstant) -> Bool {
        now.duration(to: self.fullAt) <= self.interval * (self.rate.burst / 2)
    }
}

/// How fast a process sends token requests to one provider, at the most.
package struct RefreshRate: Equatable, Sendable {
    /// In the long run.
    package let perSecond: Int
    /// At once, after a time of rest.
    package let burst: Int

    /// Numbers below 1 count as 1.
    package init(perSecond: Int = 50, burst: Int = 200) {
        self.perSecond = max(perSecond, 1)
        self.burst = max(burst, 1)
    }
}
