internal import CShims
internal import FoundationEssentials

/// A moment on `CLOCK_BOOTTIME`, in nanoseconds. It has a meaning within one boot of the machine only and is never
/// stored.
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

/// The clock for ages and deadlines. It runs on while the machine sleeps and does not jump with the wall clock.
package struct BootClock: Clock {
    package init() {}

    package var now: BootInstant { .now }
    package var minimumResolution: Duration { .nanoseconds(1) }

    /// Sleeps on the continuous clock, which runs on during machine sleep as well.
    package func sleep(until deadline: BootInstant, tolerance: Duration?) async throws {
        try await Task.sleep(for: self.now.duration(to: deadline), tolerance: tolerance, clock: .continuous)
    }
}

extension Duration {
    /// Whole nanoseconds, clamped to the range of an `Int64` (292 years).
    package var clampedNanoseconds: Int64 {
        let (seconds, attoseconds) = self.components
        let (scaled, scaledOverflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, sumOverflow) = scaled.addingReportingOverflow(attoseconds / 1_000_000_000)
        return scaledOverflow || sumOverflow ? (seconds < 0 ? .min : .max) : sum
    }
}

/// The clocks that the engine reads. A test replaces them with its own.
package struct Timepiece: Sendable {
    private let read: @Sendable () -> Moment
    private let sleep: @Sendable (BootInstant) async -> Void

    /// Combines a clock for ages with a reading of the wall clock.
    package init<Ages: Clock>(ages: Ages, wall: @escaping @Sendable () -> WallTime) where Ages.Instant == BootInstant {
        self.read = { Moment(boot: ages.now, wall: wall()) }
        self.sleep = { instant in try? await ages.sleep(until: instant, tolerance: nil) }
    }

    /// The machine's own clocks.
    package static let system = Timepiece(ages: BootClock()) {
        WallTime(millisecondsSince1970: Int64(Date.now.timeIntervalSince1970 * 1_000))
    }

    /// The current time on both clocks.
    package var now: Moment { self.read() }

    /// Waits until `instant`. Returns earlier if the task is cancelled.
    package func rest(until instant: BootInstant) async {
        await self.sleep(instant)
    }
}

/// One moment on both clocks, read together.
///
/// Ages and deadlines are counted on `boot`, which never jumps. `wall` is only stored in records, displayed, and
/// compared with the times in records.
package struct Moment: Hashable, Sendable {
    package let boot: BootInstant
    package let wall: WallTime

    package init(boot: BootInstant, wall: WallTime) {
        self.boot = boot
        self.wall = wall
    }
}
