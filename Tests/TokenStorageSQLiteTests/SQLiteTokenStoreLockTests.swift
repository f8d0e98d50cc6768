import Foundation
import GRDB
import TestKit
import Testing
import TokenModel
import TokenStorage
import TokenStorageSQLite

struct SQLiteTokenStoreLockTests {
    private let directory: TemporaryDirectory
    private let store: SQLiteTokenStore
    private let other: DatabaseQueue
    private let key = RecordKey.account("alice")

    init() async throws {
        self.directory = try TemporaryDirectory()
        let path = self.directory.path(of: "store.db")
        self.store = try await SQLiteTokenStore.open(at: path)
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        configuration.busyMode = .timeout(5)
        self.other = try DatabaseQueue(path: path, configuration: configuration)
    }

    private func lock() async throws {
        try await self.other.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
    }

    private func unlock() async throws {
        try await self.other.writeWithoutTransaction { try $0.execute(sql: "COMMIT") }
    }

    private static let writes = 40

    @Test func `while another process holds the lock all writes fail in time, and reads succeed`() async throws {
        try await TokenStoreContract.countUp(self.key, in: self.store)
        try await self.lock()

        // As many as would take more than the deadline one after another.
        let failures = try await within("the writes to fail") {
            await withTaskGroup(of: StoreError?.self) { group in
                for number in 0..<Self.writes {
                    group.addTask { () -> StoreError? in
                        do throws(StoreError) {
                            let key = RecordKey.account(String(number))
                            try await self.store.write(SealedBytes(bytes: [1]), at: key, as: .first, expecting: nil)
                            return nil
                        } catch {
                            return error
                        }
                    }
                }
                group.addTask {
                    (try? await self.store.read(self.key)) == nil ? StoreError(.unreadable, "no read") : nil
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
        }

        #expect(failures.count { $0?.code == .unreachable } == Self.writes)
        #expect(failures.count { $0 == nil } == 1)
    }

    @Test func `it satisfies the store contract through an outage`() async throws {
        let path = self.directory.path(of: "store.db")
        let subject = TokenStoreContract.Subject(store: self.store, other: try await SQLiteTokenStore.open(at: path))
        try await TokenStoreContract.checkOutage(
            subject,
            TokenStoreContract.Outage(begin: { try await self.lock() }, end: { try await self.unlock() })
        )
    }

    @Test func `a store that comes back accepts writes again`() async throws {
        try await self.lock()
        await #expect(throws: StoreError(.unreachable, "")) {
            try await self.store.write(SealedBytes(bytes: [1]), at: self.key, as: .first, expecting: nil)
        }

        try await self.unlock()

        try await self.store.write(SealedBytes(bytes: [2]), at: self.key, as: .first, expecting: nil)
        #expect(try await self.store.read(self.key)?.value == SealedBytes(bytes: [2]))
    }

    @Test func `opening a locked file fails in time`() async throws {
        let path = self.directory.path(of: "new.db")
        let holder = try DatabaseQueue(path: path)
        try await holder.writeWithoutTransaction { database in
            try database.execute(sql: "PRAGMA locking_mode = EXCLUSIVE; CREATE TABLE theirs (id INTEGER)")
        }

        let error = await #expect(throws: StoreError(.unreachable, "")) {
            _ = try await within("the refusal") { try await SQLiteTokenStore.open(at: path) }
        }

        #expect(error?.message.contains("another process holds its lock") == true)
    }
}
