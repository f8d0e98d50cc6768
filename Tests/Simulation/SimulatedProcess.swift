internal import Synchronization
package import TokenModel

/// One process of a ``Simulation``: its tasks stand still while it is stopped.
///
/// A process that has ended is not torn down: its tasks are cancelled, and whatever simulates its surroundings must
/// let nothing of it through any more.
package final class SimulatedProcess: TaskExecutor {
    private struct State {
        var isStopped = false
        var hasEnded = false
        /// What became ready to run while the process was stopped.
        var waiting: [UnownedJob] = []
        var tasks: [Task<Void, Never>] = []
    }

    package let simulation: Simulation
    private let state = Mutex(State())

    package init(on simulation: Simulation) { self.simulation = simulation }

    package var isStopped: Bool { self.state.withLock { $0.isStopped } }
    package var hasEnded: Bool { self.state.withLock { $0.hasEnded } }

    /// Starts a task of the process.
    @discardableResult
    package func start(_ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        let task = OwnedTasks.$executor.withValue(self) { Task(executorPreference: self) { await body() } }
        self.state.withLock { $0.tasks.append(task) }
        return task
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let waits = self.state.withLock { state in
            if state.isStopped { state.waiting.append(job) }
            return state.isStopped
        }
        if !waits { self.simulation.enqueue(job, of: self) }
    }

    /// Lets none of its tasks run on, as SIGSTOP does.
    package func stop() { self.state.withLock { if !$0.hasEnded { $0.isStopped = true } } }

    package func resume() {
        let waiting = self.state.withLock { state in
            defer { state.waiting = [] }
            state.isStopped = false
            return state.waiting
        }
        for job in waiting { self.simulation.enqueue(job, of: self) }
    }

    /// Ends the process, as SIGKILL does.
    package func end() {
        let tasks = self.state.withLock { state in
            state.hasEnded = true
            return state.tasks
        }
        self.resume()
        for task in tasks { task.cancel() }
    }
}

/// The clocks of one simulated host. Its boot clock may run at another rate than those of other hosts, and its wall clock
/// may jump.
package final class SimulatedClock: Clock {
    private let simulation: Simulation
    /// The simulated time at which both clocks agree.
    private let origin: BootInstant
    /// How much faster this clock runs, in millionths.
    private let drift: Int64
    private let wallOffset = Mutex(Duration.zero)

    package init(on simulation: Simulation, drift: Int64) {
        self.simulation = simulation
        self.origin = simulation.now
        self.drift = drift
    }

    package var now: BootInstant { self.origin.advanced(by: self.elapsed) }
    package var minimumResolution: Duration { .nanoseconds(1) }

    private var elapsed: Duration {
        let elapsed = self.origin.duration(to: self.simulation.now).clampedNanoseconds
        return .nanoseconds(Int64(Int128(elapsed) * Int128(1_000_000 + self.drift) / 1_000_000))
    }

    /// How much simulated time passes in a duration of this clock.
    package func simulated(_ duration: Duration) -> Duration { duration * (1_000_000 / Double(1_000_000 + self.drift)) }

    package var wall: WallTime {
        let jumps = self.wallOffset.withLock { $0 }
        let real = self.origin.duration(to: self.simulation.now)
        return self.simulation.wall.advanced(by: self.elapsed - real + jumps)
    }

    package func jumpWall(by duration: Duration) { self.wallOffset.withLock { $0 += duration } }

    package var timepiece: Timepiece { Timepiece(ages: self, wall: { self.wall }) }

    package func sleep(until deadline: BootInstant, tolerance: Duration?) async throws {
        guard deadline < .distantFuture else {
            return try await self.simulation.sleep(until: deadline, tolerance: tolerance)
        }
        while self.now < deadline {
            let left = self.now.duration(to: deadline).clampedNanoseconds
            let real = Int64(Int128(left) * 1_000_000 / Int128(1_000_000 + self.drift)) + 1
            try await self.simulation.sleep(for: .nanoseconds(real))
        }
    }
}
