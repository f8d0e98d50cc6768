import GRDB
import TestKit
import Testing
import TokenModel
import TokenStorage
import TokenStorageSQLite

struct SQLiteTokenStoreOpeningTests {
    private let directory: TemporaryDirectory
    private let path: String
    private let key = RecordKey.account("alice")

    init() throws {
        self.directory = try TemporaryDirectory()
        self.path = self.directory.path(of: "store.db")
    }

    /// Opens the store, which must fail with `code` and a message that contains `path`.
    private func failure(
        _ code: StoreError.Code,
        at path: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> String {
        let error = await #expect(throws: StoreError(code, ""), sourceLocation: sourceLocation) {
            _ = try await SQLiteTokenStore.open(at: path)
        }
        let message = try #require(error?.message, sourceLocation: sourceLocation)
        #expect(message.contains(path), sourceLocation: sourceLocation)
        return message
    }

    @Test func `a written record is there when the file is opened again`() async throws {
        let first = try await SQLiteTokenStore.open(at: self.path)
        try await first.write(SealedBytes(bytes: [1, 2]), at: self.key, as: Version(7), expecting: nil)
        await first.close()

        let second = try await SQLiteTokenStore.open(at: self.path)

        #expect(
            try await second.read(self.key) == StoredRecord(version: Version(7), value: SealedBytes(bytes: [1, 2]))
        )
    }

    @Test func `concurrent openers of a new file share it`() async throws {
        for round in 0..<10 {
            let path = self.directory.path(of: "\(round).db")
            let stores = try await withThrowingTaskGroup { group in
                for _ in 0..<16 { group.addTask { try await SQLiteTokenStore.open(at: path) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            for store in stores { try await TokenStoreContract.countUp(self.key, in: store) }

            #expect(try await stores[0].read(self.key)?.version == Version(16))
        }
    }

    @Test func `the error for a missing directory names the directory`() async throws {
        let message = try await self.failure(.unreachable, at: self.directory.path(of: "missing/store.db"))

        #expect(message.contains("the directory \(self.directory.path)/missing does not exist"))
    }

    @Test func `a directory is refused as a database`() async throws {
        let message = try await self.failure(.unreachable, at: self.directory.path)

        #expect(message.contains("is a directory"))
    }

    @Test func `a path below a file is refused as a database`() async throws {
        try self.directory.write([], to: "file")

        _ = try await self.failure(.unreachable, at: self.directory.path(of: "file/store.db"))
    }

    @Test func `a pipe is refused as a database without blocking`() async throws {
        try self.directory.makePipe("store.db")

        #expect(try await self.failure(.unreachable, at: self.path).contains("no regular file"))
    }

    @Test func `a file that is not a database is refused and left unchanged`() async throws {
        let text = Array(String(repeating: "not a database\n", count: 1000).utf8)
        try self.directory.write(text, to: "store.db")

        _ = try await self.failure(.unreadable, at: self.path)

        #expect(self.directory.bytes(of: "store.db") == text)
    }

    @Test func `another program's database is refused and left unchanged`() async throws {
        let theirs = try DatabaseQueue(path: self.path)
        try await theirs.write { try $0.execute(sql: "CREATE TABLE theirs (id INTEGER PRIMARY KEY)") }
        try theirs.close()
        let bytes = self.directory.bytes(of: "store.db")

        #expect(try await self.failure(.unreadable, at: self.path).contains("another program"))
        #expect(self.directory.bytes(of: "store.db") == bytes)
    }

    @Test func `a newer Martlet's database is refused`() async throws {
        await (try SQLiteTokenStore.open(at: self.path)).close()
        let newer = try DatabaseQueue(path: self.path)
        try await newer.writeWithoutTransaction { try $0.execute(sql: "PRAGMA user_version = 99") }
        try newer.close()

        #expect(try await self.failure(.unreadable, at: self.path).contains("layout 99"))
    }

    @Test func `a database without its table is refused`() async throws {
        await (try SQLiteTokenStore.open(at: self.path)).close()
        let raw = try DatabaseQueue(path: self.path)
        try await raw.writeWithoutTransaction { try $0.execute(sql: "DROP TABLE record") }
        try raw.close()

        _ = try await self.failure(.unreadable, at: self.path)
    }

    @Test func `a damaged database causes an error and does not look empty`() async throws {
        let store = try await SQLiteTokenStore.open(at: self.path)
        for number in 0..<200 {
            let value = SealedBytes(bytes: [UInt8](repeating: 1, count: 1000))
            try await store.write(value, at: .account(String(number)), as: .first, expecting: nil)
        }
        await store.close()
        var bytes = try #require(self.directory.bytes(of: "store.db"))
        for index in bytes.indices.dropFirst(4096) { bytes[index] = 0x5A }
        try self.directory.write(bytes, to: "store.db")

        await #expect(throws: StoreError(.unreadable, "")) {
            let store = try await SQLiteTokenStore.open(at: self.path)
            _ = try await store.read(.account("7"))
        }
    }

    @Test func `a row whose key is not text is skipped`() async throws {
        let store = try await SQLiteTokenStore.open(at: self.path)
        let raw = try DatabaseQueue(path: self.path)
        try await raw.write { database in
            for bytes in ["FF", "6163636F756E74732FFF", "6163636F756E74732FC0"] {
                try database.execute(sql: "INSERT INTO record (key, version, value) VALUES (x'\(bytes)', 1, x'00')")
            }
        }
        let last = RecordKey.account("\u{10FFFF}")
        try await store.write(SealedBytes(bytes: []), at: last, as: .first, expecting: nil)
        try await store.write(SealedBytes(bytes: []), at: self.key, as: .first, expecting: nil)

        #expect(try await store.records(under: .accounts, after: nil, limit: 2).map(\.key) == [self.key, last])
        #expect(try await store.records(under: .accounts, after: self.key, limit: 1).map(\.key) == [last])
    }

    @Test func `a closed store is unreachable, and its streams end`() async throws {
        let store = try await SQLiteTokenStore.open(at: self.path)
        let stream = store.changes()
        await store.close()

        try await within("the stream's end") { for await _ in stream {} }
        await #expect(throws: StoreError(.unreachable, "")) { _ = try await store.read(self.key) }
        await #expect(throws: StoreError(.unreachable, "")) {
            try await store.write(SealedBytes(bytes: []), at: self.key, as: .first, expecting: nil)
        }
    }
}
