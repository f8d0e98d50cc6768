import Foundation
import GRDB
import Glibc
import SystemSupport
import TestKit
import Testing
import TokenModel
import TokenStorage
import TokenStorageSQLite

/// Commits, checkpoints, opening and closing exclude each other across all processes.
///
/// One after another: some stop a process and go on while it stands still, and the runner blocks a thread for each such
/// process.
@Suite(.serialized) struct DatabaseLockTests {
    private let directory: TemporaryDirectory
    private let path: String
    private let key = RecordKey.account("alice")
    private var unsafe = Configuration()

    init() throws {
        self.directory = try TemporaryDirectory()
        self.path = self.directory.path(of: "store.db")
        self.unsafe.allowsUnsafeTransactions = true
        // The COMMIT may collide with processes that try to take the lock at this moment.
        self.unsafe.busyMode = .timeout(5)
    }

    private static func trimming(_ change: (inout LogTrimming) -> Void) -> LogTrimming {
        var trimming = LogTrimming()
        trimming.delay = .seconds(3600)
        change(&trimming)
        return trimming
    }

    private func write(_ store: SQLiteTokenStore, _ key: RecordKey) async throws {
        try await store.write(SealedBytes(bytes: [1]), at: key, as: .first, expecting: nil)
    }

    /// Whether any process holds the lock now.
    private func isLocked() throws -> Bool {
        let number = unsafe open(self.path + ".lock", O_RDWR | O_CLOEXEC)
        try #require(number >= 0)
        defer { close(number) }
        return flock(number, LOCK_EX | LOCK_NB) != 0
    }

    /// Whether any process is at the head of the queue for the lock now.
    private func isQueued() throws -> Bool {
        let file = try OpenFile(opening: self.path + ".lock", O_RDWR)
        return !file.lockQueue()
    }

    private var logSize: Int { self.directory.bytes(of: "store.db-wal")?.count ?? 0 }

    /// Runs `body` while another, stopped process holds the lock.
    private func whileStoppedHolder(_ body: () async throws -> Void) async throws {
        let note = self.directory.path(of: "holder")
        async let holding: Void = Self.hold(self.path + ".lock", note: note)
        try await eventually("the lock to be held") { FileManager.default.fileExists(atPath: note) }
        let holder = try #require(pid_t(String(decoding: self.directory.bytes(of: "holder") ?? [], as: UTF8.self)))
        let result: Result<Void, any Error>
        do { result = .success(try await body()) } catch { result = .failure(error) }
        kill(holder, SIGCONT)
        await holding
        try result.get()
    }

    private static func hold(_ path: String, note: String) async {
        await #expect(processExitsWith: .success) { [path = path as String, note = note as String] in
            let number = unsafe open(path, O_RDWR)
            try #require(flock(number, LOCK_EX) == 0)
            try Data(getpid().description.utf8).write(to: URL(filePath: note), options: .atomic)
            raise(SIGSTOP)
        }
    }

    @Test
    func `while a stopped process holds the lock, reads succeed, and writes and openings fail in time`() async throws {
        let (path, key) = (self.path, self.key)
        let store = try await SQLiteTokenStore.open(at: path, trimming: Self.trimming { _ in })
        try await self.write(store, key)

        try await self.whileStoppedHolder {
            try await within("the calls to end") {
                await withTaskGroup(of: Void.self) { group in
                    group.addTask {
                        await #expect(throws: StoreError(.unreachable, "")) {
                            try await self.write(store, .account("bob"))
                        }
                    }
                    group.addTask {
                        let error = await #expect(throws: StoreError(.unreachable, "")) {
                            _ = try await SQLiteTokenStore.open(at: path)
                        }
                        #expect(error?.message.contains("\(path).lock") == true)
                    }
                    for _ in 0..<10 {
                        group.addTask { #expect(await (try? store.read(key)) != nil) }
                    }
                }
            }
        }

        try await self.write(store, .account("bob"))
    }

    @Test func `a waiting commit is in the queue, and leaves it when it gets the lock`() async throws {
        let store = try await SQLiteTokenStore.open(at: self.path, trimming: Self.trimming { _ in })
        let other = try DatabaseQueue(path: self.path, configuration: self.unsafe)
        try await other.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
        let holder = try OpenFile(opening: self.path + ".lock", O_RDWR)
        let isHeld = try holder.lock()
        try #require(isHeld)

        async let writing: Void = self.write(store, self.key)
        try await eventually("the write to stand in the queue") { try self.isQueued() }
        holder.unlock()
        try await eventually("the write to have left the queue") { try !self.isQueued() }
        #expect(try self.isLocked())
        try await other.writeWithoutTransaction { try $0.execute(sql: "COMMIT") }
        try await writing
    }

    @Test func `a process that is stopped in the queue does not block others for long`() async throws {
        let store = try await SQLiteTokenStore.open(at: self.path, trimming: Self.trimming { _ in })
        let stopped = try OpenFile(opening: self.path + ".lock", O_RDWR)
        let isFirst = stopped.lockQueue()
        try #require(isFirst)

        try await self.write(store, self.key)

        #expect(try self.isQueued())
    }

    /// SQLite would make its own checkpoint when the last connection closes.
    @Test func `a close makes a checkpoint only if it gets the lock`() async throws {
        let first = try await SQLiteTokenStore.open(at: self.path, trimming: Self.trimming { _ in })
        try await self.write(first, self.key)
        let log = try #require(self.directory.bytes(of: "store.db-wal"))
        let holder = unsafe open(self.path + ".lock", O_RDWR | O_CLOEXEC)
        try #require(flock(holder, LOCK_EX | LOCK_NB) == 0)

        await first.close()

        #expect(!log.isEmpty)
        let isAsBefore = self.directory.bytes(of: "store.db-wal") == log
        #expect(isAsBefore)
        close(holder)
        let second = try await SQLiteTokenStore.open(at: self.path, trimming: Self.trimming { _ in })
        #expect(try await second.read(self.key)?.version == .first)
        await second.close()
        #expect(self.logSize == 0)
    }

    @Test func `a commit holds the lock from beginning to end`() async throws {
        let store = try await SQLiteTokenStore.open(at: self.path, trimming: Self.trimming { _ in })
        let other = try DatabaseQueue(path: self.path, configuration: self.unsafe)
        try await other.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
        try #require(try !self.isLocked())

        async let writing: Void = self.write(store, self.key)
        try await eventually("the write to hold the lock") { try self.isLocked() }
        try await other.writeWithoutTransaction { try $0.execute(sql: "COMMIT") }
        try await writing

        try await eventually("it to be let go") { try !self.isLocked() }
    }

    @Test func `a checkpoint holds the lock from beginning to end`() async throws {
        let trimming = Self.trimming {
            $0.delay = .milliseconds(1)
            $0.patience = .seconds(60)
        }
        let store = try await SQLiteTokenStore.open(at: self.path, trimming: trimming)
        // The first checkpoint empties the log of the table's creation.
        try await eventually("the log to be empty") { try self.logSize == 0 && !self.isLocked() }
        let reader = try DatabaseQueue(path: self.path, configuration: self.unsafe)
        try await reader.writeWithoutTransaction { database in
            try database.execute(sql: "BEGIN")
            #expect(try Int.fetchOne(database, sql: "SELECT count(*) FROM record") == 0)
        }

        // The log can't be emptied while a reader uses an older state, and this trimmer waits up to 60 s.
        try await self.write(store, self.key)
        try await eventually("the checkpoint to hold the lock") { try self.isLocked() && self.logSize > 0 }
        for _ in 0..<1_000 { #expect(try self.isLocked()) }
        try await reader.writeWithoutTransaction { try $0.execute(sql: "COMMIT") }

        try await eventually("the log to be empty, and the lock free") { try self.logSize == 0 && !self.isLocked() }
    }

    /// SQLite itself does not wait when it enables the write-ahead log.
    @Test func `opening holds the lock from beginning to end`() async throws {
        let other = try DatabaseQueue(path: self.path, configuration: self.unsafe)
        try await other.writeWithoutTransaction { try $0.execute(sql: "BEGIN EXCLUSIVE") }
        let path = self.path

        async let opening = SQLiteTokenStore.open(at: path)
        try await eventually("the lock to be held") {
            try self.directory.bytes(of: "store.db.lock") != nil && self.isLocked()
        }
        try await other.writeWithoutTransaction { try $0.execute(sql: "COMMIT") }

        #expect(try await opening.read(self.key) == nil)
        try await eventually("it to be let go") { try !self.isLocked() }
    }

    @Test func `a process that finds the lock file removed opens a new one`() async throws {
        let store = try await SQLiteTokenStore.open(at: self.path, trimming: Self.trimming { _ in })
        try self.directory.remove("store.db.lock")
        try await self.write(store, self.key)
        #expect(try self.directory.mode(of: "store.db.lock") == 0o600)

        let other = try DatabaseQueue(path: self.path, configuration: self.unsafe)
        try await other.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
        async let writing: Void = self.write(store, .account("bob"))
        try await eventually("the write to hold the new one") { try self.isLocked() }
        try await other.writeWithoutTransaction { try $0.execute(sql: "COMMIT") }
        try await writing
    }

    @Test func `a log that grows faster than the trimmer's interval is emptied at once`() async throws {
        let trimming = Self.trimming { $0.cap = 256 << 10 }
        let store = try await SQLiteTokenStore.open(at: self.path, trimming: trimming)
        let value = SealedBytes(bytes: [UInt8](repeating: 1, count: SealedBytes.maximumCount))

        for number in 0..<40 {
            try await store.write(value, at: .account(String(number)), as: .first, expecting: nil)
        }

        try await eventually("the log to be small") { self.logSize < trimming.cap }
        var kept = 0
        try await store.forEachRecord(under: .accounts) { _ in kept += 1 }
        #expect(kept == 40)
    }

    @Test func `SQLite makes no checkpoint by itself, no matter how long the log is`() async throws {
        let store = try await SQLiteTokenStore.open(at: self.path, trimming: Self.trimming { $0.cap = .max / 2 })
        let value = SealedBytes(bytes: [UInt8](repeating: 1, count: SealedBytes.maximumCount))
        try await self.write(store, self.key)
        let database = self.directory.bytes(of: "store.db")

        // Over 4,000 pages in a few commits. SQLite's default limit is 1,000.
        try await withThrowingTaskGroup { group in
            for number in 0..<260 {
                group.addTask {
                    try await store.write(value, at: .account(String(number)), as: .first, expecting: nil)
                }
            }
            try await group.waitForAll()
        }
        try await store.write(value, at: .account("last"), as: .first, expecting: nil)

        #expect(self.logSize > 16 << 20)
        let isAsBefore = self.directory.bytes(of: "store.db") == database
        #expect(isAsBefore)
    }

    @Test func `the log of a killed process is emptied by the next process`() async throws {
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = self.path as String] in
            let store = try await SQLiteTokenStore.open(at: path)
            try await TokenStoreContract.countUp(.account("alice"), in: store)
            kill(getpid(), SIGKILL)
        }
        try #require(self.logSize > 0)

        let store = try await SQLiteTokenStore.open(at: self.path, trimming: Self.trimming { $0.delay = .zero })

        try await eventually("the log to be empty") { self.logSize == 0 }
        #expect(try await store.read(self.key)?.version == .first)
    }
}
