import KillSwitch
import Simulation
import TestKit
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// The number of store calls of an engine and a kill switch, combined as in a gateway.
@Suite(.simulated) struct StoreCallsTests {
    private let provider = ScriptedTokenEndpoint()

    /// Runs a gateway's engine and kill switch over one store, whose log has a kill.
    private func run(
        _ accounts: [AccountID],
        _ record: AccountRecord,
        _ body: (Cluster, Replica) async throws -> Void
    ) async throws {
        var house = Cluster()
        let clock = house.clock
        let kills = KillSwitch(
            house.records,
            incarnation: .random(),
            name: "a",
            lease: .seconds(10),
            timepiece: clock.timepiece,
            logger: house.log.logger,
            fence: NoFence(),
            target: { _ in nil }
        )
        let kill = KillEntry(.kill, .account(AccountID("zoe")), at: clock.wall)
        _ = try await KillLog(house.records).append(kill, behind: .start)
        for account in accounts { try await house.put(record, for: account) }
        house.reader = kills
        try await kills.start()
        let running = Task(executorPreference: Simulation.running) { await kills.run() }
        try await house.withReplica(self.provider, accounts: accounts) { replica in
            try await until("the first sweep") { house.store.calls.contains { $0.place == "revocations/" } }
            try await body(house, replica)
        }
        kills.stop()
        await running.value
    }

    @Test func `a refresh costs at most five store calls`() async throws {
        try await self.run([alice], AccountRecord.expired(grant: GrantID("g"), generation: 1)) { house, replica in
            let before = house.store.calls.count
            let answer = await replica.ask().value
            #expect(answer.generation == Generation(2))
            try await replica.hasLanded()
            // The account's record; the kill log; the claim; the tokens; the log again, for a kill meanwhile.
            let calls = house.store.calls.dropFirst(before).map { "\($0.operation.rawValue) \($0.place)" }
            #expect(calls.count <= 5, "\(calls)")
            let way = ["read accounts/alice", "records kills/", "write accounts/alice", "write accounts/alice"]
            #expect(calls.prefix(4) == way[...])
        }
    }

    @Test(arguments: [1, 1_200])
    func `an idle replica makes at most two store calls per second for all accounts together`(count: Int) async throws {
        let accounts = (0..<count).map { AccountID("account-\($0)") }
        try await self.run(accounts, AccountRecord.valid(grant: GrantID("g"), generation: 1)) { house, replica in
            for account in accounts { #expect(await replica.ask(account).value.generation == Generation(1)) }
            let before = house.store.calls.count
            await house.clock.pass(.seconds(50))
            let calls = house.store.calls.count - before
            #expect((21...100).contains(calls))
        }
    }
}

private struct NoFence: KillFence {
    func fence(_ epochs: KillEpochs) async -> Int { 0 }
    func locked(_ entry: KillEntry) async {}
    func replaced(_ account: AccountID) async {}
    func setLeaseDeadline(_ instant: BootInstant) {}
}
