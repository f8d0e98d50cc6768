import GRDB
import Glibc
import TestKit
import Testing
import TokenModel
import TokenStorage
import TokenStorageSQLite

/// Several processes on one file. Each exit test runs in a separate process.
struct SQLiteTokenStoreProcessTests {
    private let directory: TemporaryDirectory
    private let path: String
    private static let key = RecordKey.account("alice")

    init() throws {
        self.directory = try TemporaryDirectory()
        self.path = self.directory.path(of: "store.db")
    }

    @Test func `a write of another process is read and announced`() async throws {
        let store = try await SQLiteTokenStore.open(at: self.path)
        let stream = store.changes()

        await #expect(processExitsWith: .success) { [path = self.path as String] in
            let store = try await SQLiteTokenStore.open(at: path)
            try await store.write(SealedBytes(bytes: [7]), at: Self.key, as: Version(3), expecting: nil)
        }

        try await within("a hint") {
            for await change in stream where change == RecordChange(key: Self.key, version: Version(3)) { return }
        }
        #expect(try await store.read(Self.key) == StoredRecord(version: Version(3), value: SealedBytes(bytes: [7])))
    }

    @Test func `processes that count up one record and empty the log after each write lose no count`() async throws {
        let store = try await SQLiteTokenStore.open(at: self.path, trimming: Self.trimming)

        async let counting: Void = Self.countUp(times: 50, in: store)
        async let first: Void = Self.countUpElsewhere(times: 50, path: self.path)
        async let second: Void = Self.countUpElsewhere(times: 50, path: self.path)
        _ = try await (counting, first, second)

        #expect(try await store.read(Self.key)?.version == Version(150))
    }

    @Test(arguments: [20, 35, 50, 65, 80])
    func `a write acknowledged before kill -9 is there afterwards`(milliseconds: Int) async throws {
        let notes = self.directory.path(of: "acknowledged")

        await #expect(processExitsWith: .signal(SIGKILL)) {
            [path = self.path as String, notes = notes as String, milliseconds = milliseconds as Int] in
            try await TokenStoreContract.countUpUntilKilled(
                Self.key,
                in: try await SQLiteTokenStore.open(at: path),
                noting: notes,
                after: .milliseconds(milliseconds)
            )
        }

        let store = try await SQLiteTokenStore.open(at: self.path)
        try await TokenStoreContract.checkWhatWasKilled(Self.key, in: store, noted: notes)
    }

    @Test func `a full disk causes another error than an unreachable store, and existing records stay`() async throws {
        await #expect(processExitsWith: .success) { [path = self.path as String] in
            let store = try await SQLiteTokenStore.open(at: path)
            try await TokenStoreContract.countUp(Self.key, in: store)
            signal(SIGXFSZ, SIG_IGN)
            var limit = rlimit(rlim_cur: 65_536, rlim_max: 65_536)
            try #require(unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0)

            let large = SealedBytes(bytes: [UInt8](repeating: 1, count: SealedBytes.maximumCount))
            await #expect(throws: StoreError(.unwritable, "")) {
                try await store.write(large, at: .account("bob"), as: .first, expecting: nil)
            }

            #expect(try await store.read(.account("bob")) == nil)
            #expect(try await store.read(Self.key)?.version == .first)
        }
    }

    /// Runs in a separate process, because other tests keep the threads of this one busy.
    @Test func `tasks continue while stores wait for a lock`() async throws {
        await #expect(processExitsWith: .success) { [path = self.path as String] in
            let holder = try DatabaseQueue(path: path)
            try await holder.writeWithoutTransaction { database in
                try database.execute(sql: "PRAGMA locking_mode = EXCLUSIVE; CREATE TABLE theirs (id INTEGER)")
            }

            let ended = Tally()
            let waiting = (0..<8).map { _ in
                Task.detached {
                    defer { ended.add() }
                    return try await SQLiteTokenStore.open(at: path)
                }
            }
            // If a store took a thread of the tasks to wait, nothing would go on until its time is over.
            var rounds = 0
            while ended.count == 0 {
                await Task.detached { await Task.yield() }.value
                rounds += 1
            }
            #expect(rounds > 100)
            for open in waiting { await #expect(throws: StoreError(.unreachable, "")) { _ = try await open.value } }
        }
    }

    /// Trims the log after every write, without delay.
    private static var trimming: LogTrimming {
        var trimming = LogTrimming()
        trimming.delay = .zero
        return trimming
    }

    private static func countUp(times: Int, in store: SQLiteTokenStore) async throws {
        for _ in 0..<times { try await TokenStoreContract.countUp(Self.key, in: store) }
    }

    private static func countUpElsewhere(times: Int, path: String) async {
        await #expect(processExitsWith: .success) { [path = path as String, times = times as Int] in
            let store = try await SQLiteTokenStore.open(at: path, trimming: Self.trimming)
            try await Self.countUp(times: times, in: store)
        }
    }
}
