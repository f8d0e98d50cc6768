import Approvals
import Simulation
import TestKit
import Testing
import TokenModel
import TokenStorage

/// Approvals between replicas, over restarts, and while the store is away.
@Suite(.simulated) struct StoredApprovalTests {
    @Test(arguments: [true, false])
    func `a yes given at one replica releases those who wait at another`(hints: Bool) async throws {
        let fixture = ApprovalFixture(hints: hints)
        try await fixture.run(2) { replicas in
            // Given a request at one replica
            let request = Task(executorPreference: Simulation.running) {
                try await replicas[1].service.wait(for: alice)
            }
            try await until("it to wait") { replicas[1].service.waiting() == [alice] }

            // When the yes is given at the other
            try await replicas[0].approve()

            // Then it goes on, after a second even without a hint
            let begin = fixture.clock.now
            try await request.value
            #expect(begin.duration(to: fixture.clock.now) == (hints ? .zero : .seconds(1)))
            #expect(replicas[1].service.statuses() == replicas[0].service.statuses())
        }
    }

    @Test func `a request finds a yes that was given elsewhere a moment ago, without a hint`() async throws {
        let fixture = ApprovalFixture(hints: false)
        try await fixture.run { replicas in
            try await fixture.replica().approve()
            await fixture.clock.pass(.seconds(2))
            let begin = fixture.clock.now
            try await replicas[0].service.wait(for: alice)
            #expect(fixture.clock.now == begin)
        }
    }

    @Test func `records are read each second while somebody waits, and otherwise each nine seconds`() async throws {
        let fixture = ApprovalFixture(hints: false)
        try await fixture.run(1, .of(alice, wait: .seconds(60))) { replicas in
            let replica = replicas[0]
            func pause() async throws -> Duration {
                let (begin, before) = (fixture.clock.now, replica.readings)
                try await until("a reading", within: .seconds(20)) { replica.readings > before }
                return begin.duration(to: fixture.clock.now)
            }
            for _ in 0..<2 { #expect(try await pause() == .seconds(9)) }
            let request = Task(executorPreference: Simulation.running) { try await replica.service.wait(for: alice) }
            try await until("it to wait") { replica.service.waiting() == [alice] }
            for _ in 0..<3 { #expect(try await pause() == .seconds(1)) }
            request.cancel()
        }
    }

    @Test func `a process that is started anew knows what stands before it serves`() async throws {
        let fixture = ApprovalFixture()
        try await fixture.run { replicas in
            let approval = try await replicas[0].approve()
            await fixture.clock.pass(.seconds(300))

            let next = fixture.replica(.of(alice, wait: .zero))
            await next.service.start()
            #expect(next.notes.all == ["alice 600 s"])
            #expect(next.service.statuses() == [alice: approval])
            try await next.service.wait(for: alice)
        }
    }

    @Test func `a wall clock that was set back does not prolong an approval`() async throws {
        let fixture = ApprovalFixture()
        try await fixture.run(1, .of(alice, wait: .zero)) { replicas in
            try await replicas[0].approve()
            await fixture.clock.pass(.seconds(600))
            fixture.clock.jumpWall(by: .seconds(-600))
            await replicas[0].service.start()
            await fixture.clock.pass(.seconds(299))
            #expect(!replicas[0].service.statuses().isEmpty)
            await fixture.clock.pass(.seconds(1))
            await replicas[0].service.start()
            #expect(replicas[0].service.statuses().isEmpty)
            #expect(replicas[0].notes.all == ["alice 900 s"])
        }
    }

    @Test(arguments: [FaultyTokenStore.Fault.away, .full])
    func `without the store nothing is approved, and what stands runs on`(fault: FaultyTokenStore.Fault) async throws {
        let fixture = ApprovalFixture()
        try await fixture.run(1, .of(alice, bob, wait: .zero)) { replicas in
            try await replicas[0].approve(alice)
            replicas[0].store.fail(fault)
            await #expect(throws: ApprovalError(.storeLost, "")) { try await replicas[0].approve(bob) }
            #expect(Set(replicas[0].service.statuses().keys) == [alice])
            try await replicas[0].service.wait(for: alice)

            replicas[0].store.recover()
            try await replicas[0].approve(bob)
            #expect(Set(replicas[0].service.statuses().keys) == [alice, bob])
        }
    }

    @Test func `a store that can't be read is logged once, and read again when it is back`() async throws {
        let fixture = ApprovalFixture()
        try await fixture.run(2) { replicas in
            replicas[1].store.fail(.away)
            let before = replicas[1].readings
            try await until("two readings", within: .seconds(30)) { replicas[1].readings >= before + 2 }
            #expect(fixture.log.lines.count { $0.contains("approvals can't be read") } == 1)

            replicas[1].store.recover()
            try await replicas[0].approve()
            try await until("the approval") { !replicas[1].service.statuses().isEmpty }
        }
    }

    @Test func `a write whose response was lost counts`() async throws {
        try await ApprovalFixture().run { replicas in
            replicas[0].store.fail(.unanswered, [.write], at: .approval("alice"), times: 1)
            let approval = try await replicas[0].approve()
            #expect(replicas[0].service.statuses() == [alice: approval])
            #expect(replicas[0].store.count(of: .write, at: .approval("alice")) == 1)
        }
    }

    @Test func `two operators who approve at the same time both succeed`() async throws {
        try await ApprovalFixture().run(2) { replicas in
            replicas[0].store.beforeWrite(at: .approval("alice")) { _ = try? await replicas[1].approve() }
            try await replicas[0].approve()
            for replica in replicas { #expect(Set(replica.service.statuses().keys) == [alice]) }
        }
    }

    @Test func `a kill between a yes and its write ends the approval at each replica`() async throws {
        try await ApprovalFixture().run(2) { replicas in
            // Given a kill that comes while the approval is written
            replicas[0].store.beforeWrite(at: .approval("alice")) {
                for replica in replicas { replica.kill(.account(alice)) }
            }

            // When the operator approves
            await #expect(throws: ApprovalError(.killed, "")) { try await replicas[0].approve() }

            // Then nobody was told of an approval
            for replica in replicas {
                await replica.service.start()
                #expect(replica.service.statuses().isEmpty)
                #expect(replica.notes.all.isEmpty)
            }
            // And the next one stands
            try await replicas[0].approve()
        }
    }

    @Test func `a kill ends an approval that another replica has read`() async throws {
        try await ApprovalFixture().run(2) { replicas in
            try await replicas[0].approve()
            try await until("the other to read it") { !replicas[1].service.statuses().isEmpty }
            replicas[1].kill(.all)
            await replicas[1].service.start()
            #expect(replicas[1].service.statuses().isEmpty)
            #expect(replicas[1].notes.all == ["alice 900 s", "alice 0 s"])
        }
    }

    @Test func `a kill that was read before the approvals counts for them`() async throws {
        let fixture = ApprovalFixture()
        try await fixture.run { replicas in
            try await replicas[0].approve()
            let next = fixture.replica()
            // The kill switch has read it. Nobody has told the approvals.
            _ = next.kills.raise(.account(alice))
            await next.service.start()
            #expect(next.service.statuses().isEmpty)
        }
    }

    @Test func `a record that does not open is no approval, and the next one replaces it`() async throws {
        let fixture = ApprovalFixture()
        try await fixture.run { replicas in
            try await replicas[0].approve()
            let next = fixture.replica()
            next.store.fail(.spoiled, [.records, .read], under: .approvals)
            await next.service.start()
            await next.service.start()
            #expect(next.service.statuses().isEmpty)
            #expect(fixture.log.lines.count { $0.contains("does not open") && $0.contains("alice") } == 1)
            try await next.approve()
            #expect(Set(next.service.statuses().keys) == [alice])
        }
    }

    @Test(arguments: [
        (bob, ApprovalError.Code.notRequired), (AccountID("carol"), .unknownAccount), (alice, .killed),
    ])
    func `what can't be approved is not written`(account: AccountID, code: ApprovalError.Code) async throws {
        try await ApprovalFixture().run { replicas in
            replicas[0].service.apply(replicas[0].kills.raise(.account(alice), holds: true))
            await #expect(throws: ApprovalError(code, "")) { try await replicas[0].approve(account) }
            #expect(replicas[0].store.count(of: .write) == 0)
        }
    }
}
