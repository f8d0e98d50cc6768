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

    /// Well above the two-second limit of a store, for slow machines, and below the total of several waits in
    /// sequence.
    private static let limit = Duration.seconds(10)

    /// Commits the transaction of `holder` after 100 ms, so that others have started to wait. It uses a separate
    /// thread, because the shared threads may be delayed on a busy machine.
    private func commitSoon(_ holder: DatabaseQueue) {
        Thread.detachNewThread {
            usleep(100_000)
            do {
                try holder.writeWithoutTransaction { database in try database.execute(sql: "COMMIT") }
            } catch {
                Issue.record("the lock was not let go: \(error)")
            }
        }
    }

    @Test func `while another process holds the lock all writes fail in time, and reads succeed`() async throws {
        try await TokenStoreContract.countUp(self.key, in: self.store)
        try await self.lock()

        let start = ContinuousClock.now
        let failures = await withTaskGroup { group in
            for number in 0..<8 {
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
            group.addTask { (try? await self.store.read(self.key)) == nil ? StoreError(.unreadable, "no read") : nil }
            return await group.reduce(into: []) { $0.append($1) }
        }

        #expect(failures.count { $0?.code == .unreachable } == 8)
        #expect(failures.count { $0 == nil } == 1)
        #expect(.now - start < Self.limit)
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

    @Test func `a write waits for a lock that is released soon`() async throws {
        try await self.lock()

        self.commitSoon(self.other)

        try await self.store.write(SealedBytes(bytes: [1]), at: self.key, as: .first, expecting: nil)

        #expect(try await self.store.read(self.key)?.version == .first)
    }

    /// SQLite itself does not wait when it enables the write-ahead log.
    @Test func `a new file is opened as soon as another process releases its lock`() async throws {
        let path = self.directory.path(of: "new.db")
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        // The COMMIT may collide with processes that try to open the file at this moment.
        configuration.busyMode = .timeout(5)
        let holder = try DatabaseQueue(path: path, configuration: configuration)
        try await holder.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }

        self.commitSoon(holder)

        let opened = try await SQLiteTokenStore.open(at: path)

        #expect(try await opened.read(self.key) == nil)
    }

    @Test func `opening a locked file fails in time`() async throws {
        let path = self.directory.path(of: "new.db")
        let holder = try DatabaseQueue(path: path)
        try await holder.writeWithoutTransaction { database in
            try database.execute(sql: "PRAGMA locking_mode = EXCLUSIVE; CREATE TABLE theirs (id INTEGER)")
        }

        let start = ContinuousClock.now
        let error = await #expect(throws: StoreError(.unreachable, "")) {
            _ = try await SQLiteTokenStore.open(at: path)
        }

        #expect(error?.message.contains("another process holds its lock") == true)
        #expect(.now - start < Self.limit)
    }
}
