internal import CShims

/// A moment on `CLOCK_BOOTTIME`, in nanoseconds: meaningful within one boot of the machine, never stored.
package struct BootInstant: InstantProtocol, Hashable, Sendable {
    package let nanoseconds: Int64

    package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    package static var now: BootInstant { BootInstant(nanoseconds: martlet_boottime_nanoseconds()) }
    package static let distantPast = BootInstant(nanoseconds: .min)
    package static let distantFuture = BootInstant(nanoseconds: .max)

    package static func < (left: BootInstant, right: BootInstant) -> Bool { left.nanoseconds < right.nanoseconds }

    /// Saturates at both ends, so that an absurd lifetime can't trap.
    package func advanced(by duration: Duration) -> BootInstant {
        let (sum, overflow) = self.nanoseconds.addingReportingOverflow(duration.clampedNanoseconds)
        return overflow ? (duration < .zero ? .distantPast : .distantFuture) : BootInstant(nanoseconds: sum)
    }

    /// Saturates at both ends.
    package func duration(to other: BootInstant) -> Duration {
        let (difference, overflow) = other.nanoseconds.subtractingReportingOverflow(self.nanoseconds)
        return .nanoseconds(overflow ? (other > self ? .max : .min) : difference)
    }
}

/// The clock that ages are counted on: it goes on while the machine sleeps and does not jump with the wall clock.
package struct BootClock: Clock {
    package init() {}

    package var now: BootInstant { .now }
    package var minimumResolution: Duration { .nanoseconds(1) }

    /// Sleeps on the continuous clock, which counts as this one does.
    package func sleep(until deadline: BootInstant, tolerance: Duration?) async throws {
        try await Task.sleep(for: self.now.duration(to: deadline), tolerance: tolerance, clock: .continuous)
    }
}

extension Duration {
    /// Whole nanoseconds, held to what an `Int64` can carry (292 years).
    package var clampedNanoseconds: Int64 {
        let (seconds, attoseconds) = self.components
        let (scaled, scaledOverflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, sumOverflow) = scaled.addingReportingOverflow(attoseconds / 1_000_000_000)
        return scaledOverflow || sumOverflow ? (seconds < 0 ? .min : .max) : sum
    }
}
