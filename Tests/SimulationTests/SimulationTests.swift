internal import Dispatch
internal import Foundation
internal import Simulation
internal import Synchronization
internal import Testing
internal import TokenModel

@Suite struct SimulationTests {
    /// Twenty tasks that sleep and draw numbers.
    private func run(seed: UInt64) async throws -> (trace: Trace, end: BootInstant) {
        let simulation = Simulation("tasks", seed: seed)
        try await simulation.run {
            await withDiscardingTaskGroup { tasks in
                for _ in 0..<20 {
                    tasks.addTask { try? await simulation.sleep(for: .seconds(Int.drawn(in: 1...9))) }
                }
                tasks.addTask { try? await simulation.sleep(for: .seconds(86_400)) }
            }
        }
        return (simulation.trace, simulation.now)
    }

    @Test func `a seed is a schedule`() async throws {
        let (first, again, other) = (try await run(seed: 1), try await run(seed: 1), try await run(seed: 2))
        #expect(first.trace == again.trace)
        #expect(first.trace != other.trace)
    }

    @Test func `time passes to the last sleeper and no further`() async throws {
        let start = Simulation("nothing", seed: 0).now
        #expect(start.duration(to: try await run(seed: 3).end) == .seconds(86_400))
    }

    @Test func `what is to happen at once does not wait`() async throws {
        let simulation = Simulation("a sleeper", seed: 0)
        try await simulation.run {
            let start = simulation.now
            async let sleeper: Void = simulation.pass(.seconds(10))
            await #expect(throws: Stuck.self) { try await until("ten seconds") { simulation.now > start } }
            try await until("ten seconds", within: .seconds(10)) { simulation.now > start }
            await #expect(throws: Stuck.self) { try await until("more", within: .seconds(10)) { false } }
            await sleeper
        }
    }

    @Test func `a test that waits for what nobody does fails`() async {
        let (nothing, continuation) = AsyncStream.makeStream(of: Void.self)
        let error = await #expect(throws: Stuck.self) {
            try await Simulation("waiting", seed: 0).run { for await _ in nothing {} }
        }
        #expect(error?.description.hasPrefix("nothing runs and nobody sleeps") == true)
        continuation.finish()
    }

    @Test func `a test that goes round in circles fails`() async {
        let error = await #expect(throws: Stuck.self) {
            try await Simulation("circles", seed: 0).run { while !Task.isCancelled { await Task.yield() } }
        }
        #expect(error?.description.hasPrefix("the test goes round in circles") == true)
    }

    @Test func `a test fails that another thread wakes`() async {
        let simulation = Simulation("a stray", seed: 0)
        await #expect(throws: Stuck.self) {
            try await simulation.run {
                let isAwake = Mutex(false)
                let hasBegun = DispatchSemaphore(value: 0)
                async let sleeper: Void = {
                    while !isAwake.withLock({ $0 }) {
                        hasBegun.signal()
                        try? await simulation.sleep(for: .seconds(1))
                    }
                }()
                await withCheckedContinuation { continuation in
                    Thread {
                        // Not before this task is suspended: only then does the sleeper begin.
                        hasBegun.wait()
                        continuation.resume()
                    }
                    .start()
                }
                isAwake.withLock { $0 = true }
                await sleeper
            }
        }
    }
}
