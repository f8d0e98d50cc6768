/// A moment as the world counts it: milliseconds since 1970-01-01T00:00:00Z. Only for what is stored or shown;
/// ages within a process are counted on ``BootClock``.
package struct WallTime: Hashable, Comparable, Sendable {
    package let millisecondsSince1970: Int64

    package init(millisecondsSince1970: Int64) { self.millisecondsSince1970 = millisecondsSince1970 }

    package static func < (left: WallTime, right: WallTime) -> Bool {
        left.millisecondsSince1970 < right.millisecondsSince1970
    }

    /// Saturates at both ends.
    package func advanced(by duration: Duration) -> WallTime {
        let (sum, overflow) = self.millisecondsSince1970.addingReportingOverflow(
            duration.clampedNanoseconds / 1_000_000
        )
        return WallTime(millisecondsSince1970: overflow ? (duration < .zero ? .min : .max) : sum)
    }

    /// Saturates at both ends.
    package func duration(to other: WallTime) -> Duration {
        let (difference, overflow) = other.millisecondsSince1970.subtractingReportingOverflow(
            self.millisecondsSince1970
        )
        return .milliseconds(overflow ? (other > self ? .max : .min) : difference)
    }
}
