import Audit
import Simulation
import TestKit
import Testing
import TokenModel
import TokenStorage

@Suite(.simulated) struct AuditTrailTests {
    private let clock = Simulation.running
    private let logs = RecordingLog()
    private let store = MemoryTokenStore()

    private func trail(_ store: any TokenStore) -> AuditTrail {
        AuditTrail(
            SealedRecords(store: store, keyRing: KeyRing(current: .random()), storeID: .random()),
            incarnation: IncarnationID("b00t"),
            replica: "a",
            timepiece: self.clock.timepiece,
            logger: self.logs.logger
        )
    }

    private static func records(_ trail: AuditTrail) async throws -> [AuditRecord] {
        try await trail.log.items(after: 0, limit: 100).compactMap { item in
            guard case .record(let record) = item else { return nil }
            return record
        }
    }

    @Test func `a change is announced, and its outcome names the announcement`() async throws {
        let trail = self.trail(self.store)
        let scope = KillScope.account(AccountID("alice"))
        let ticket = try await trail.begin(.revive, of: scope, reason: "over", by: .admin(at: "127.0.0.1:5"))
        #expect(ticket.number == 1)
        #expect(await trail.end(ticket, "done", detail: "two"))
        let records = try await Self.records(trail)
        #expect(records.map(\.outcome) == [nil, "done"])
        #expect(records.map(\.of) == [nil, 1])
        #expect(records.map(\.reason) == ["over", nil])
        #expect(records.map(\.boot) == ["b00t", "b00t"])
        #expect(records.map(\.time) == ["2026-01-01T00:00:00.000Z", "2026-01-01T00:00:00.000Z"])
        // The program's log has the hash of each record.
        let lines = self.logs.lines.filter { $0.contains("put into the audit log") }
        #expect(zip(lines, records).allSatisfy { $0.contains($1.hash.digits) })
        #expect(lines.count == 2)
    }

    /// A store that can be read but not written.
    private static func fullStore() -> FaultyTokenStore {
        let store = FaultyTokenStore()
        store.fail(.full)
        return store
    }

    @Test func `a change that can't be recorded is refused, and a kill is marked as unrecorded`() async throws {
        let trail = self.trail(Self.fullStore())
        let error = await #expect(throws: AuditError.self) {
            _ = try await trail.begin(.reload, by: .gateway("SIGHUP"))
        }
        #expect(error?.code == .unavailable)
        #expect(error?.message.contains("the disk is full") == true)
        let ticket = await trail.beginRegardless(.kill, of: .all, reason: "drill", by: .admin(at: nil))
        #expect(!ticket.isWritten)
        let isWritten = await trail.end(ticket, "complete")
        #expect(!isWritten)
        #expect(self.logs.lines.count { $0.hasPrefix("error ") } == 3)
    }

    @Test func `a kill whose announcement failed has all facts in the record of its outcome`() async throws {
        let full = Self.fullStore()
        let trail = self.trail(full)
        let ticket = await trail.beginRegardless(.kill, of: .all, reason: "drill", by: .admin(at: "127.0.0.1:5"))
        let later = self.trail(self.store)
        #expect(await later.end(ticket, "complete"))
        let record = try #require(try await Self.records(later).first)
        #expect(record.of == nil)
        #expect(record.reason == "drill")
        #expect(record.outcome == "complete")
    }

    @Test func `wrong tokens are summarized in few records, and the end of the process omits none`() async throws {
        let trail = self.trail(self.store)
        async let running: Void = trail.run()
        for _ in 0..<30 { trail.refusedToken(from: "10.0.0.1:5") }
        await self.clock.pass(.seconds(1))
        #expect(try await Self.records(trail).count == 1)
        for _ in 0..<7 { trail.refusedToken(from: "10.0.0.2:5") }
        await self.clock.pass(.seconds(59))
        #expect(try await Self.records(trail).count == 1)
        trail.stop()
        await running
        let records = try await Self.records(trail)
        #expect(records.map(\.action) == ["refused_tokens", "refused_tokens"])
        #expect(records.map(\.from) == ["10.0.0.1:5", "10.0.0.2:5"])
        #expect(records.first?.detail?.hasPrefix("30 requests") == true)
        #expect(records.last?.detail?.hasPrefix("7 requests") == true)
    }

    @Test func `wrong tokens that come during an outage of the store are recorded after it`() async throws {
        let store = FaultyTokenStore()
        let trail = self.trail(store)
        async let running: Void = trail.run()
        store.fail(.away)
        for _ in 0..<3 { trail.refusedToken(from: "10.0.0.1:5") }
        await self.clock.pass(.seconds(30))

        store.recover()

        await self.clock.pass(.seconds(120))
        #expect(try await Self.records(trail).map(\.from) == ["10.0.0.1:5"])
        #expect(try await Self.records(trail).first?.detail?.hasPrefix("3 requests") == true)
        trail.stop()
        await running
    }
}
