import KillSwitch
import Simulation
import Testing
import TokenModel
import TokenStorage

/// A kill switch whose task is cancelled while requests may still be in progress.
@Suite(.simulated) struct CancelledKillSwitchTests {
    private let house = ReplicaGroup()

    @Test func `a cancelled kill switch stays listed, sends no more tokens and lets no caller wait`()
        async throws
    {
        let one = self.house.replica("a", lease: .seconds(36_000))
        try await one.kills.start()
        let running = Task(executorPreference: Simulation.running) { await one.kills.run() }
        try await one.kills.renew()

        running.cancel()
        await running.value

        await #expect(throws: StoreError.self) { try await one.kills.read() }
        #expect(!one.kills.holdsLease)
        #expect(one.fence.until == .distantPast)
        #expect(!one.kills.hasLeft)
        let other = self.house.replica("b")
        try await other.kills.start()
        let names = try await other.kills.listReplicas().map(\.record.name)
        #expect(Set(names) == ["a", "b"])
    }
}
