internal import Synchronization

/// How far this machine's wall clock is behind the one that all replicas go by, such as that of the store's server.
package final class ClockCorrection: Sendable {
    private let milliseconds = Atomic<Int64>(0)

    package init() {}

    /// Positive where this machine's clock is behind.
    package var offset: Duration {
        get { .milliseconds(self.milliseconds.load(ordering: .relaxed)) }
        set { self.milliseconds.store(Int64(newValue / .milliseconds(1)), ordering: .relaxed) }
    }

    /// Takes in a reading of the other clock, which was taken between two readings of this machine's.
    ///
    /// A difference that the reading's own duration may explain changes nothing, and neither does one below 20 ms.
    ///
    /// - Returns: whether the reading was precise enough to tell.
    @discardableResult
    package func learn(_ theirs: WallTime, between begin: WallTime, and end: WallTime) -> Bool {
        let took = begin.duration(to: end)
        guard took >= .zero, took <= .seconds(1) else { return false }
        let measured = begin.advanced(by: took / 2).duration(to: theirs)
        let change = measured - self.offset
        if abs(change / .milliseconds(1)) > max(20, took / .milliseconds(2)) { self.offset = measured }
        return true
    }
}

extension Timepiece {
    /// The machine's own clocks, with its wall clock corrected.
    package static func corrected(by correction: ClockCorrection) -> Timepiece {
        Timepiece(ages: BootClock()) { Timepiece.system.now.wall.advanced(by: correction.offset) }
    }
}
