internal import Foundation
internal import Synchronization
internal import TestKit
package import TokenModel

/// One thread runs all tasks of a test, and time passes only when none of them can run: then it goes to the next moment
/// at which one wakes.
///
/// Which of several tasks runs first is drawn from a seed, and so is what the tested code draws from `Randomness`: the
/// same seed makes the same run. Sockets and other threads have no place in it.
///
/// ```
///    run a job ──none left──▶ resume who waits for quiet ──nobody──▶ go to the next sleeper ──none──▶ stuck
///        ▲                              │                                    │
///        └──────────────────────────────┴────────────────────────────────────┘
/// ```
@safe package final class Simulation: TaskExecutor {
    /// The simulation that the current task belongs to.
    @TaskLocal package static var current: Simulation?

    private struct Sleeper {
        let wake: BootInstant
        let continuation: CheckedContinuation<Void, any Error>
    }

    /// A task that waits until nothing else can run.
    private struct Onlooker {
        /// The number of moments that must have passed.
        let moment: Int
        /// Resumed with whether that many moments will have passed; if not, nobody sleeps any more.
        let continuation: CheckedContinuation<Bool, Never>
    }

    private enum Phase { case waiting, running, ending }

    /// A job and the executor of its task: the simulation itself, or a process on it.
    private struct Ready {
        let job: UnownedJob
        let executor: any TaskExecutor
    }

    private enum Step {
        case run(Ready)
        case look(CheckedContinuation<Bool, Never>, Bool)
        case wake([CheckedContinuation<Void, any Error>])
        case fail(String)
        case rest
        case end
    }

    private struct State {
        var phase = Phase.waiting
        var thread: pthread_t?
        var jobs: [Ready] = []
        var now: BootInstant
        var moment = 0
        var wallOffset = Duration.zero
        var lastSleeper = 0
        var sleepers: [Int: Sleeper] = [:]
        var onlookers: [Onlooker] = []
        var order: SeededGenerator
        var draws: SeededGenerator
        var trace = Trace()
        var strays = 0
        var failure: String?
        /// How often the test could not go on.
        var failures = 0
        var mostJobs = Simulation.mostJobs
        /// Whether ``mostJobs`` have run, and what followed the cancellation went round in circles too.
        var isEndless = false
    }

    /// What a fatal error is told of.
    private let name: String
    /// The number that the run depends on.
    package let seed: UInt64
    private let state: Mutex<State>
    private let start: BootInstant
    private let wallAtStart: WallTime
    /// The test's own task, to cancel it. Safe: only the simulation's thread touches it, and not after the task.
    private nonisolated(unsafe) var root: UnsafeCurrentTask?
    private let begin = DispatchSemaphore(value: 0)

    /// Ten times as many jobs as any test needs: one that runs so many goes round in circles.
    private static let mostJobs = 400_000

    /// Starts one hour after boot, on 2026-01-01.
    package init(_ name: String, seed: UInt64) {
        self.name = name
        self.seed = seed
        self.start = BootInstant(nanoseconds: 3_600_000_000_000)
        self.wallAtStart = WallTime(millisecondsSince1970: 1_767_225_600_000)
        self.state = Mutex(
            State(now: self.start, order: SeededGenerator(seed: seed), draws: SeededGenerator(seed: ~seed))
        )
    }

    // MARK: - Running

    /// Runs `body` and all its tasks on a thread of their own.
    ///
    /// - Throws: ``Stuck`` if `body` can't end, after cancelling it; errors of `body`.
    package func run(_ body: @Sendable () async throws -> Void) async throws {
        let (end, over) = AsyncStream.makeStream(of: Never.self)
        let thread = Thread {
            self.runJobs()
            over.finish()
        }
        thread.name = "simulation"
        thread.start()
        var mistake: (any Error)?
        do {
            try await Self.$current.withValue(self) {
                try await OwnedTasks.$executor.withValue(self) {
                    try await Randomness.$simulated.withValue(Randomness.Source { self.draw() }) {
                        try await withTaskExecutorPreference(self) {
                            // A task of its own, so that it can be cancelled without the one that it belongs to.
                            async let end: Void = self.runRoot(body)
                            defer { self.state.withLock { $0.phase = .ending } }
                            return try await end
                        }
                    }
                }
            }
        } catch {
            mistake = error
        }
        for await _ in end {}
        let (failure, strays) = self.state.withLock { ($0.failure, $0.strays) }
        if let failure {
            throw Stuck(description: mistake.map { "\(failure); after it was cancelled: \($0)" } ?? failure)
        }
        if strays > 0 {
            throw Stuck(description: "\(strays) jobs came from other threads: a task has left the simulation")
        }
        if let mistake { throw mistake }
    }

    private func runRoot(_ body: @Sendable () async throws -> Void) async throws {
        unsafe withUnsafeCurrentTask { unsafe self.root = $0 }
        self.state.withLock { $0.phase = .running }
        defer { unsafe self.root = nil }
        return try await body()
    }

    package func enqueue(_ job: consuming ExecutorJob) { self.enqueue(UnownedJob(job), of: self) }

    /// Adds a job of a task that prefers `executor`.
    func enqueue(_ job: UnownedJob, of executor: any TaskExecutor) {
        let isFirst = self.state.withLock { state in
            state.jobs.append(Ready(job: job, executor: executor))
            guard state.phase != .waiting else { return true }
            Self.noteThread(&state)
            return false
        }
        if isFirst { self.begin.signal() }
    }

    /// Notes who calls from a thread that is not the simulation's.
    private static func noteThread(_ state: inout State) {
        if let thread = state.thread, pthread_equal(thread, pthread_self()) == 0 { state.strays += 1 }
    }

    private func runJobs() {
        self.state.withLock { $0.thread = pthread_self() }
        while true {
            switch self.state.withLock({ Self.next(&$0) }) {
            case .run(let ready): unsafe ready.job.runSynchronously(on: ready.executor.asUnownedTaskExecutor())
            case .look(let onlooker, let hasPassed): onlooker.resume(returning: hasPassed)
            case .wake(let sleepers): for sleeper in sleepers { sleeper.resume() }
            case .fail(let what): self.fail(what)
            case .rest: self.begin.wait()
            case .end: return
            }
        }
    }

    private static func next(_ state: inout State) -> Step {
        if !state.jobs.isEmpty {
            let index = state.jobs.count == 1 ? 0 : Int.random(in: 0..<state.jobs.count, using: &state.order)
            guard state.trace.count < state.mostJobs else {
                state.isEndless = state.mostJobs > Self.mostJobs
                state.mostJobs *= 2
                return .fail("the test goes round in circles")
            }
            state.trace.add(index, of: state.jobs.count, at: state.now)
            state.jobs.swapAt(index, state.jobs.count - 1)
            return .run(state.jobs.removeLast())
        }
        switch state.phase {
        case .waiting: return .rest
        case .ending:
            // What still sleeps belongs to an object that was not told to stop.
            guard state.failures < Self.mostFailures, !state.sleepers.isEmpty || !state.onlookers.isEmpty else {
                return .end
            }
            return .fail("")
        case .running: break
        }
        if let index = state.onlookers.firstIndex(where: { $0.moment <= state.moment }) {
            return .look(state.onlookers.remove(at: index).continuation, true)
        }
        if let wake = state.sleepers.values.map(\.wake).min() {
            state.now = max(state.now, wake)
            state.moment += 1
            let due = state.sleepers.filter { $0.value.wake <= state.now }.sorted { $0.key < $1.key }
            for (id, _) in due { state.sleepers[id] = nil }
            return .wake(due.map(\.value.continuation))
        }
        guard state.onlookers.isEmpty else { return .look(state.onlookers.removeFirst().continuation, false) }
        return .fail("nothing runs and nobody sleeps")
    }

    /// Cancels a test that can't go on, and wakes all who sleep.
    private func fail(_ what: String) {
        let (isOver, sleepers, onlookers) = self.state.withLock { state in
            defer { (state.sleepers, state.onlookers) = ([:], []) }
            state.failures += 1
            if state.phase == .running || state.isEndless { state.failure = state.failure ?? what }
            let isStuck = state.failures > 1 && state.sleepers.isEmpty && state.onlookers.isEmpty
            let isOver = state.phase == .running && (isStuck || state.failures > Self.mostFailures)
            return (isOver || state.isEndless, state.sleepers, state.onlookers)
        }
        unsafe self.root?.cancel()
        if isOver { preconditionFailure("\(what), even after \(self.name) was cancelled; MARTLET_SEED=\(self.seed)") }
        for sleeper in sleepers.sorted(by: { $0.key < $1.key }) {
            sleeper.value.continuation.resume(throwing: CancellationError())
        }
        for onlooker in onlookers { onlooker.continuation.resume(returning: false) }
    }

    /// How often all who sleep are woken at the end, before they are left alone.
    private static let mostFailures = 100

    private func draw() -> UInt64 { self.state.withLock { $0.draws.next() } }

    /// What has run: equal for equal seeds.
    package var trace: Trace { self.state.withLock { $0.trace } }

    // MARK: - Waiting

    /// Waits until nothing else can run at this moment.
    package func settle() async { _ = await self.look(after: 0) }

    /// Waits until nothing else can run, after time has gone on to the next sleeper.
    ///
    /// - Returns: whether it has; if not, nobody sleeps.
    @discardableResult package func step() async -> Bool { await self.look(after: 1) }

    private func look(after moments: Int) async -> Bool {
        await withCheckedContinuation { continuation in
            self.state.withLock { state in
                Self.noteThread(&state)
                state.onlookers.append(Onlooker(moment: state.moment + moments, continuation: continuation))
            }
        }
    }
}

/// The clock that stands still while a task can run. Its wall clock can be set wrong.
extension Simulation: Clock {
    package var now: BootInstant { self.state.withLock(\.now) }
    package var minimumResolution: Duration { .nanoseconds(1) }

    /// The wall clock. It advances with the boot clock and adds the jumps of ``jumpWall(by:)``.
    package var wall: WallTime {
        self.state.withLock { self.wallAtStart.advanced(by: self.start.duration(to: $0.now) + $0.wallOffset) }
    }

    /// Both clocks, for the tested code.
    package var timepiece: Timepiece { Timepiece(ages: self, wall: { self.wall }) }

    /// Sets the wall clock forward or back, without advancing the boot clock.
    package func jumpWall(by duration: Duration) { self.state.withLock { $0.wallOffset += duration } }

    /// Time goes on while nothing runs, as if the machine had slept: who was to wake meanwhile wakes at the end.
    package func skip(_ duration: Duration) { self.state.withLock { $0.now = $0.now.advanced(by: duration) } }

    /// Runs everything until `duration` has passed, and what happens at its end.
    package func pass(_ duration: Duration) async {
        try? await self.sleep(for: duration)
        await self.settle()
    }

    package func sleep(until deadline: BootInstant, tolerance: Duration?) async throws {
        let id = self.state.withLock { state in
            Self.noteThread(&state)
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
