import Audit
import TestKit
import Testing
import TokenModel
import TokenStorage
import TokenStorageSQLite

@Suite struct AuditLogTests {
    private static func entry(_ reason: String) -> AuditEntry {
        AuditEntry(
            .revive,
            by: .admin(at: "127.0.0.1:1"),
            in: "a",
            incarnation: .random(),
            of: .all,
            reason: reason,
            at: WallTime(millisecondsSince1970: 0)
        )
    }

    private static func verified(_ log: AuditLog) async throws -> AuditChain {
        var chain = AuditChain()
        for item in try await log.items(after: 0, limit: 1_000) { chain.take(item) }
        return chain
    }

    private static func records(_ store: any TokenStore) -> SealedRecords {
        SealedRecords(store: store, keyRing: KeyRing(current: .random()), storeID: .random())
    }

    @Test func `records are numbered from 1, and each holds the hash of the previous record`() async throws {
        let records = Self.records(MemoryTokenStore())
        let log = AuditLog(records)
        #expect(try await log.lastNumber() == 0)
        let first = try await log.append(Self.entry("one"))
        let second = try await log.append(Self.entry("two"))
        #expect(first.number == 1)
        #expect(first.previous == .none)
        #expect(second.number == 2)
        #expect(second.previous == first.hash)
        #expect(try await log.items(after: 0, limit: 10) == [.record(first), .record(second)])
        #expect(try await log.items(after: 1, limit: 10) == [.record(second)])
        #expect(try await log.items(after: 0, limit: 1) == [.record(first)])
        #expect(try await AuditLog(records).lastNumber() == 2)
    }

    @Test func `an overwritten record breaks the chain, even if the next record is rewritten to match`()
        async throws
    {
        let records = Self.records(MemoryTokenStore())
        let log = AuditLog(records)
        let entries = ["one", "two", "three", "four"].map(Self.entry)
        var written: [AuditRecord] = []
        for entry in entries { written.append(try await log.append(entry)) }
        func overwrite(_ entry: AuditEntry, _ number: UInt64, behind previous: AuditHash) async throws -> AuditHash {
            let stored = try #require(try await records.read(.audit(number)))
            let record = AuditRecord(entry, number: number, behind: previous)
            _ = try await records.write(record.encoded(), at: .audit(number), expecting: stored.version)
            return record.hash
        }

        let changed = try await overwrite(Self.entry("another"), 2, behind: written[0].hash)
        #expect(try await Self.verified(log).firstFault == .unchained(3))
        _ = try await overwrite(entries[2], 3, behind: changed)

        // Each hash covers the previous hash.
        #expect(try await Self.verified(log).firstFault == .unchained(4))
    }

    @Test(arguments: 0...17 as ClosedRange<UInt64>, [nil, 1, 4, 9] as [UInt64?])
    func `the last number is found even if another record is missing`(count: UInt64, gone: UInt64?) async throws {
        let store = MemoryTokenStore()
        let records = Self.records(store)
        let log = AuditLog(records)
        for number in 0..<count { _ = try await log.append(Self.entry("\(number)")) }
        if let gone, gone < count { try await store.remove(.audit(gone), expecting: .first) }
        #expect(try await AuditLog(records).lastNumber() == count)
    }

    @Test func `several processes on one SQLite file write one chain`() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path(of: "tokens.db")
        let (ring, id) = (KeyRing(current: .random()), StoreID.random())
        var stores: [SQLiteTokenStore] = []
        for _ in 0..<4 { stores.append(try await SQLiteTokenStore.open(at: path)) }
        let logs = stores.map { AuditLog(SealedRecords(store: $0, keyRing: ring, storeID: id)) }
        try await withThrowingTaskGroup { tasks in
            for (process, log) in logs.enumerated() {
                for task in 0..<3 {
                    tasks.addTask {
                        for number in 0..<5 { _ = try await log.append(Self.entry("\(process) \(task) \(number)")) }
                    }
                }
            }
            try await tasks.waitForAll()
        }
        for log in logs {
            let chain = try await Self.verified(log)
            #expect(chain.count == 60)
            #expect(chain.firstFault == nil)
        }
        let items = try await logs[0].items(after: 0, limit: 100)
        let reasons = items.map { item -> String? in
            guard case .record(let record) = item else { return nil }
            return record.reason
        }
        #expect(Set(reasons).count == 60)
        for store in stores { await store.close() }
    }

    @Test func `a write whose acknowledgement is lost yields one record`() async throws {
        let store = FaultyTokenStore()
        let log = AuditLog(Self.records(store))
        store.fail(.unanswered, [.write], times: 1)
        let record = try await log.append(Self.entry("one"))
        #expect(record.number == 1)
        _ = try await log.append(Self.entry("two"))
        let chain = try await Self.verified(log)
        #expect(chain.count == 2)
        #expect(chain.firstFault == nil)
    }

    @Test func `a retried entry is found even if others were appended after it`() async throws {
        let store = FaultyTokenStore()
        let log = AuditLog(Self.records(store))
        _ = try await log.append(Self.entry("zero"))
        let entry = Self.entry("one")
        store.fail(.unanswered, [.write], times: 1)
        await #expect(throws: StoreError(.unreachable, "")) {
            _ = try await log.append(entry, tries: 1, isTriedAgain: true)
        }
        _ = try await log.append(Self.entry("two"))

        let record = try await log.append(entry, tries: 1, isTriedAgain: true)

        #expect(record.number == 2)
        let chain = try await Self.verified(log)
        #expect(chain.count == 3)
    }

    @Test func `a store that fails twice causes an error`() async throws {
        let store = FaultyTokenStore()
        let log = AuditLog(Self.records(store))
        store.fail(.away, [.write], times: 2)
        await #expect(throws: StoreError(.unreachable, "")) { _ = try await log.append(Self.entry("one")) }
        #expect(try await log.append(Self.entry("two")).number == 1)
    }

    @Test func `a record that can't be opened is kept, and the log continues after it`() async throws {
        let store = MemoryTokenStore()
        let records = Self.records(store)
        _ = try await AuditLog(records).append(Self.entry("one"))
        let stored = try #require(try await store.read(.audit(1)))
        var bytes = stored.value.bytes
        bytes[bytes.count - 1] ^= 1
        try await store.write(SealedBytes(bytes: bytes), at: .audit(1), as: Version(2), expecting: .first)

        let log = AuditLog(records)
        #expect(try await log.append(Self.entry("two")).number == 2)
        let chain = try await Self.verified(log)
        #expect(chain.firstFault == .unreadable(1))
        #expect(chain.count == 2)
        #expect(try await store.read(.audit(1))?.value.bytes == bytes)
    }
}
