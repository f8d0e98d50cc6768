package import TokenModel

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
