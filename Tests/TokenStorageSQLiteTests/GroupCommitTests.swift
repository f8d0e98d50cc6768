import Foundation
import GRDB
import TestKit
import Testing
import TokenModel
import TokenStorage
import TokenStorageSQLite

/// Waiting writes that are committed together.
struct GroupCommitTests {
    private let directory: TemporaryDirectory
    private let path: String
    private let store: SQLiteTokenStore
    private let other: DatabaseQueue
    private var unsafe = Configuration()

    init() async throws {
        self.directory = try TemporaryDirectory()
        self.path = self.directory.path(of: "store.db")
        self.store = try await SQLiteTokenStore.open(at: self.path)
        self.unsafe.allowsUnsafeTransactions = true
        self.other = try DatabaseQueue(path: self.path, configuration: self.unsafe)
    }

    private static func key(_ number: Int) -> RecordKey { .account(String(number)) }

    /// Starts writes of all `numbers` while another connection holds the lock, then releases the lock.
    private func writeTogether(_ numbers: [Int]) async throws -> [Result<Void, StoreError>] {
        try await self.other.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
        let (store, other, begun) = (self.store, self.other, Tally())
        return try await withThrowingTaskGroup { group in
            for (place, number) in numbers.enumerated() {
                group.addTask { () -> Result<Void, StoreError>? in
                    begun.add()
                    do throws(StoreError) {
                        let value = SealedBytes(bytes: [UInt8(place)])
                        try await store.write(value, at: Self.key(number), as: .first, expecting: nil)
                        return .success(())
                    } catch {
                        return .failure(error)
                    }
                }
            }
            group.addTask {
                // The first write waits for the lock, and the others wait for the first.
                try await eventually("all to be asked for") { begun.count == numbers.count }
                try await other.writeWithoutTransaction { try $0.execute(sql: "COMMIT") }
                return nil
            }
            return try await group.reduce(into: []) { outcomes, outcome in outcome.map { outcomes.append($0) } }
        }
    }

    /// The number of transactions in the write-ahead log. The last frame of a transaction has the size of the database
    /// in its header.
    private func commitsInLog() throws -> Int {
        let log = try [UInt8](Data(contentsOf: URL(fileURLWithPath: self.path + "-wal")))
        let (header, frame) = (32, 24 + 4096)
        return stride(from: header, to: log.count, by: frame).count { log[$0 + 4..<$0 + 8].contains { $0 != 0 } }
    }

    @Test func `waiting writes are committed together`() async throws {
        // Given a log that can't be emptied because a reader uses an older state
        try await self.store.write(SealedBytes(bytes: [0]), at: Self.key(99), as: .first, expecting: nil)
        let reader = try DatabaseQueue(path: self.path, configuration: self.unsafe)
        try await reader.writeWithoutTransaction { database in
            try database.execute(sql: "BEGIN")
            #expect(try Int.fetchOne(database, sql: "SELECT count(*) FROM record") == 1)
        }
        let before = try self.commitsInLog()

        // When many writes run at once
        let outcomes = try await self.writeTogether(Array(0..<40))

        #expect(outcomes.count { (try? $0.get()) != nil } == 40)
        #expect(try self.commitsInLog() - before < 20)
        for number in 0..<40 { #expect(try await self.store.read(Self.key(number)) != nil) }
        try reader.close()
    }

    @Test func `a write that finds another version fails alone and gets the current record`() async throws {
        let outcomes = try await self.writeTogether([1, 2, 2, 3])

        let failures = outcomes.compactMap { outcome in
            if case .failure(let error) = outcome { error } else { nil }
        }
        #expect(failures.map(\.code) == [.conflict])
        let kept = try await self.store.read(Self.key(2))
        #expect(failures.first?.current == kept)
        for number in [1, 3] { #expect(try await self.store.read(Self.key(number)) != nil) }
    }
}
