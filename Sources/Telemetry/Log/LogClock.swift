package import TokenModel

/// What wall time it is, and was at a moment of the incarnation clock.
package struct LogClock: Sendable {
    package let now: WallTime
    package let bootNow: BootInstant

    package init(now: WallTime, bootNow: BootInstant) {
        self.now = now
        self.bootNow = bootNow
    }

    /// As far as the clock was not set in between.
    package func wallTime(of moment: BootInstant) -> WallTime {
        self.now.advanced(by: self.bootNow.duration(to: moment))
    }
}
