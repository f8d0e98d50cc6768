internal import FoundationEssentials

/// The clocks as the engine reads them, so that a test can turn their hands.
package struct Timepiece: Sendable {
    private let read: @Sendable () -> Moment
    private let sleep: @Sendable (BootInstant) async -> Void

    /// Joins a clock for ages with a reading of the wall clock.
    package init<Ages: Clock>(ages: Ages, wall: @escaping @Sendable () -> WallTime) where Ages.Instant == BootInstant {
        self.read = { Moment(boot: ages.now, wall: wall()) }
        self.sleep = { instant in try? await ages.sleep(until: instant, tolerance: nil) }
    }

    /// The machine's own clocks.
    package static let system = Timepiece(ages: BootClock()) {
        WallTime(millisecondsSince1970: Int64(Date.now.timeIntervalSince1970 * 1_000))
    }

    /// Both clocks, now.
    package var now: Moment { self.read() }

    /// Waits until `instant`; comes back earlier when the task is cancelled.
    package func rest(until instant: BootInstant) async {
        await self.sleep(instant)
    }
}
