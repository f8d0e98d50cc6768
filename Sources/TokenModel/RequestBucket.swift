/// Spreads the requests to one provider over time with a token bucket, which fills at the configured rate. Each request
/// takes one token from it. A request that finds the bucket empty gets a moment in the future; no two such requests get
/// the same moment.
package struct RequestBucket: Equatable, Sendable {
    /// When a request may be sent.
    package enum Place: Equatable, Sendable {
        /// The request may be sent at this moment, or now if the moment has passed.
        case at(BootInstant)
        /// The request would have to wait longer than it can. Nothing is taken.
        case none(retryAfter: Duration)
    }

    package private(set) var rate: RequestRate
    /// When the bucket would be full if nothing more were taken.
    private var fullAt = BootInstant.distantPast

    package init(_ rate: RequestRate) {
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
        let moment = self.nextMoment(now)
        let wait = now.duration(to: moment)
        guard wait <= patience else { return .none(retryAfter: wait - patience) }
        return .at(self.take(now: now))
    }

    /// Takes one token, in advance if the bucket is empty, however long its request then has to wait.
    ///
    /// - Returns: when the request may be sent.
    package mutating func take(now: BootInstant) -> BootInstant {
        let moment = self.nextMoment(now)
        self.fullAt = max(self.fullAt, now).advanced(by: self.interval)
        return max(moment, now)
    }

    private func nextMoment(_ now: BootInstant) -> BootInstant {
        max(self.fullAt, now).advanced(by: .zero - self.interval * (self.rate.burst - 1))
    }

    /// How long a request would have to wait behind those that have taken a token and `others` that have not yet.
    package func wait(behind others: Int, now: BootInstant) -> Duration {
        max(now.duration(to: self.nextMoment(now)) + self.interval * others, .zero)
    }

    /// Goes on at another rate, with as many tokens as there are now, but no more than the new burst.
    package mutating func change(to rate: RequestRate, now: BootInstant) {
        guard rate != self.rate else { return }
        let missing = max(now.duration(to: self.fullAt), .zero) / self.interval
        let left = min(Double(self.rate.burst) - missing, Double(rate.burst))
        self.rate = rate
        self.fullAt = now.advanced(by: self.interval * (Double(rate.burst) - left))
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

/// The maximum rate at which a process sends requests of one kind to one provider.
package struct RequestRate: Equatable, Sendable {
    /// Requests per second in the long run.
    package let perSecond: Int
    /// Requests that may be sent at once after an idle time.
    package let burst: Int

    /// Numbers below 1 count as 1.
    package init(perSecond: Int = 50, burst: Int = 200) {
        self.perSecond = max(perSecond, 1)
        self.burst = max(burst, 1)
    }
}
