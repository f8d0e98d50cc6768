import Approvals
import Simulation
import TestKit
import Testing
import TokenModel
import TokenStorage

/// Requests that wait for an operator's yes.
@Suite(.simulated) struct ApprovalServiceTests {
    @Test func `a waiting request goes on when its account is approved, after the event loops were told`() async throws
    {
        let fixture = ApprovalFixture()
        try await fixture.run { replicas in
            let replica = replicas[0]
            // Given a request that waits
            async let waiting: Void = {
                try await replica.service.wait(for: alice)
                replica.notes.add("goes on")
            }()
            try await until("the request to wait") { replica.notes.all == ["alice waits"] }
            #expect(replica.service.waiting() == [alice])

            // When an operator says yes
            let approval = try await replica.approve()

            // Then it goes on, and a second one at once
            try await waiting
            #expect(replica.notes.all == ["alice waits", "alice 900 s", "goes on"])
            try await replica.service.wait(for: alice)
            #expect(replica.notes.all.suffix(2) == ["goes on", "alice 900 s"])
            #expect(approval.by == "anne")
            #expect(approval.until == fixture.clock.wall.advanced(by: .seconds(900)))
            #expect(replica.service.statuses() == [alice: approval])
            #expect(replica.service.waiting().isEmpty)
        }
    }

    @Test func `nothing opens before the approval is durable`() async throws {
        try await ApprovalFixture().run { replicas in
            let replica = replicas[0]
            replica.store.beforeWrite(at: .approval("alice")) {
                replica.notes.add("is written, \(replica.service.statuses().count) stand")
            }
            try await replica.approve()
            #expect(replica.notes.all == ["is written, 0 stand", "alice 900 s"])
        }
    }

    @Test func `an account that requires no approval is used at once, and the store is not asked`() async throws {
        let fixture = ApprovalFixture()
        try await fixture.run(1, nil) { replicas in
            try await replicas[0].service.wait(for: alice)
            await fixture.clock.pass(.seconds(20))
            #expect(replicas[0].readings == 0)
            #expect(replicas[0].notes.all.isEmpty)
        }
    }

    @Test func `a request is refused when nobody has said yes in time`() async throws {
        let fixture = ApprovalFixture()
        try await fixture.run { replicas in
            let begin = fixture.clock.now
            let error = try #require(await Self.refusal(at: replicas[0]))
            #expect(error.code == .approvalRequired)
            #expect(error.retryAfter == .seconds(30))
            #expect(begin.duration(to: fixture.clock.now) == .seconds(30))
        }
    }

    @Test func `where the policy lets nobody wait, requests are refused at once and operators told once`() async throws
    {
        try await ApprovalFixture().run(1, .of(alice, wait: .zero)) { replicas in
            for _ in 0..<3 { #expect(await Self.refusal(at: replicas[0])?.code == .approvalRequired) }
            #expect(replicas[0].notes.all == ["alice waits"])
        }
    }

    @Test func `a request that has ended waits no longer`() async throws {
        let fixture = ApprovalFixture()
        try await fixture.run { replicas in
            let request = Task(executorPreference: Simulation.running) { await Self.refusal(at: replicas[0]) }
            try await until("it to wait") { replicas[0].service.waiting() == [alice] }
            request.cancel()
            #expect(await request.value?.code == .approvalRequired)

            // Only a waiter keeps the account listed for longer than a minute.
            await fixture.clock.pass(.seconds(61))
            #expect(replicas[0].service.waiting().isEmpty)
        }
    }

    @Test func `a request of a task that was cancelled before it is refused`() async throws {
        try await ApprovalFixture().run { replicas in
            let error = await withTaskGroup(of: CredentialError?.self) { tasks in
                tasks.cancelAll()
                tasks.addTask { await Self.refusal(at: replicas[0]) }
                return await tasks.next() ?? nil
            }
            #expect(error?.code == .approvalRequired)
        }
    }

    @Test func `an approval ends, and the next request waits again`() async throws {
        let fixture = ApprovalFixture()
        try await fixture.run(1, .of(alice, wait: .zero)) { replicas in
            try await replicas[0].approve()
            await fixture.clock.pass(.seconds(899))
            #expect(await Self.refusal(at: replicas[0]) == nil)
            await fixture.clock.pass(.seconds(1))
            #expect(await Self.refusal(at: replicas[0])?.code == .approvalRequired)
            #expect(replicas[0].service.statuses().isEmpty)
        }
    }

    @Test func `a policy without the account lets its requests go on`() async throws {
        try await ApprovalFixture().run { replicas in
            async let waiting: CredentialError? = Self.refusal(at: replicas[0])
            try await until("it to wait") { replicas[0].service.waiting() == [alice] }
            replicas[0].service.reload(.of(bob))
            #expect(await waiting == nil)
        }
    }

    @Test func `a process that stops refuses those who wait, and later ones`() async throws {
        try await ApprovalFixture().run { replicas in
            async let waiting: CredentialError? = Self.refusal(at: replicas[0])
            try await until("it to wait") { replicas[0].service.waiting() == [alice] }
            replicas[0].service.stop()
            #expect(await waiting?.code == .approvalRequired)
            #expect(await Self.refusal(at: replicas[0])?.code == .approvalRequired)
        }
    }

    @Test func `a cancelled run ends, and refuses those who wait`() async throws {
        let replica = ApprovalFixture().replica()
        let running = Task(executorPreference: Simulation.running) { await replica.service.run() }
        async let waiting: CredentialError? = Self.refusal(at: replica)
        try await until("it to wait") { replica.service.waiting() == [alice] }
        running.cancel()
        await running.value
        #expect(await waiting?.code == .approvalRequired)
    }

    @Test func `a kill ends an approval at once, without the store`() async throws {
        try await ApprovalFixture().run(1, .of(alice, wait: .zero)) { replicas in
            try await replicas[0].approve()
            replicas[0].store.fail(.away)
            replicas[0].kill(.provider(acme))
            #expect(replicas[0].notes.all == ["alice 900 s", "alice 0 s"])
            #expect(await Self.refusal(at: replicas[0])?.code == .approvalRequired)
        }
    }

    /// The error of a request for `alice`; `nil` if it may go on.
    private static func refusal(at replica: Replica) async -> CredentialError? {
        do throws(CredentialError) {
            try await replica.service.wait(for: alice)
            return nil
        } catch {
            return error
        }
    }
}
