/// A clock on which every sleep lasts until a gate opens.
struct GatedClock: Clock {
    let gate: Gate

    var now: ContinuousClock.Instant { .now }
    var minimumResolution: Duration { .nanoseconds(1) }

    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        await self.gate.credential()
    }
}
