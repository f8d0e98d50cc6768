internal import Synchronization
package import TokenModel

/// A clock that stands still until a test advances it, and a wall clock that advances with it.
package final class ManualClock: Clock {
    private struct Sleeper {
        let wake: BootInstant
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var now: BootInstant
        var lastSleeper: UInt64 = 0
        var sleepers: [UInt64: Sleeper] = [:]
    }

    private let state: Mutex<State>
    private static let start = BootInstant(nanoseconds: 3_600_000_000_000)
    private static let wallAtStart = WallTime(millisecondsSince1970: 1_767_225_600_000)

    /// Starts one hour after boot, on 2026-01-01.
    package init() { self.state = Mutex(State(now: Self.start)) }

    package var now: BootInstant { self.state.withLock { $0.now } }
    package var minimumResolution: Duration { .nanoseconds(1) }

    /// The wall clock.
    package var wall: WallTime { Self.wallAtStart.advanced(by: Self.start.duration(to: self.now)) }

    /// Advances the clock and wakes all sleepers whose deadline has passed, the earliest first.
    package func advance(by duration: Duration) {
        let woken = self.state.withLock { state in
            state.now = state.now.advanced(by: duration)
            let due = state.sleepers.filter { $0.value.wake <= state.now }
            for id in due.keys { state.sleepers[id] = nil }
            return due.values.sorted { $0.wake < $1.wake }
        }
        for sleeper in woken { sleeper.continuation.resume() }
    }

    /// Waits in real time until a task sleeps whose deadline is within `duration`. Then advances the clock exactly to
    /// that deadline.
    ///
    /// With it a test moves a task from one sleep to the next, without guessing when the task starts to sleep.
    package func advanceToSleeper(within duration: Duration) async throws {
        try await eventually("a sleeper to wake within \(duration)") { self.nextWake(within: duration) != nil }
        if let wake = self.nextWake(within: duration) { self.advance(by: self.now.duration(to: wake)) }
    }

    /// Advances from sleeper to sleeper whose deadline is within `duration`, until `condition` holds.
    ///
    /// - Parameter limit: the timeout in real time.
    package func advance(
        bySleepersWithin duration: Duration,
        until what: String,
        limit: Duration = .seconds(60),
        _ condition: @escaping @Sendable () async throws -> Bool
    ) async throws {
        try await eventually(what, limit: limit) {
            if try await condition() { return true }
            if let wake = self.nextWake(within: duration) { self.advance(by: self.now.duration(to: wake)) }
            return false
        }
    }

    /// The earliest deadline of all sleepers; `nil` if there is none within `duration`.
    package func nextWake(within duration: Duration) -> BootInstant? {
        self.state.withLock { state in
            let horizon = state.now.advanced(by: duration)
            return state.sleepers.values.map(\.wake).filter { $0 <= horizon }.min()
        }
    }

    package func sleep(until deadline: BootInstant, tolerance: Duration?) async throws {
        let id = self.state.withLock { state in
            state.lastSleeper += 1
            return state.lastSleeper
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isOver: Result<Void, any Error>? = self.state.withLock { state in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if deadline <= state.now { return .success(()) }
                    state.sleepers[id] = Sleeper(wake: deadline, continuation: continuation)
                    return nil
                }
                if let isOver { continuation.resume(with: isOver) }
            }
        } onCancel: {
            let sleeper = self.state.withLock { $0.sleepers.removeValue(forKey: id) }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }
}
