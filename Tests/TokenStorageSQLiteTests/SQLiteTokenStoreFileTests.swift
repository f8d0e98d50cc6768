import TestKit
import Testing
import TokenModel
import TokenStorage
import TokenStorageSQLite

struct SQLiteTokenStoreFileTests {
    private let directory: TemporaryDirectory
    private let path: String
    private let key = RecordKey.account("alice")
    private static let names = ["store.db", "store.db-wal", "store.db-shm", "store.db.lock"]

    init() throws {
        self.directory = try TemporaryDirectory()
        self.path = self.directory.path(of: "store.db")
    }

    @Test func `only the owner can read the database and its companions`() async throws {
        let store = try await SQLiteTokenStore.open(at: self.path)
        try await TokenStoreContract.countUp(self.key, in: store)

        #expect(try self.directory.contents() == Self.names.sorted())
        for name in Self.names { #expect(try self.directory.mode(of: name) == 0o600, "\(name)") }
    }

    @Test func `files that others can read are made private`() async throws {
        let first = try await SQLiteTokenStore.open(at: self.path)
        try await TokenStoreContract.countUp(self.key, in: first)
        for name in Self.names { try self.directory.setMode(0o644, of: name) }

        let second = try await SQLiteTokenStore.open(at: self.path)

        for name in Self.names { #expect(try self.directory.mode(of: name) == 0o600, "\(name)") }
        #expect(try await second.read(self.key)?.version == .first)
    }

    @Test func `a database that was moved away is unreachable until it is back`() async throws {
        let store = try await SQLiteTokenStore.open(at: self.path)
        try await TokenStoreContract.countUp(self.key, in: store)

        try self.directory.move("store.db", to: "moved.db")
        for _ in 0..<2 {
            await #expect(throws: StoreError(.unreachable, "")) { _ = try await store.read(self.key) }
            await #expect(throws: StoreError(.unreachable, "")) {
                try await store.write(SealedBytes(bytes: [2]), at: self.key, as: Version(2), expecting: .first)
            }
            try self.directory.write([], to: "store.db")
        }

        try self.directory.remove("store.db")
        try self.directory.move("moved.db", to: "store.db")
        try await TokenStoreContract.countUp(self.key, in: store)
        #expect(try await store.read(self.key)?.version == Version(2))
    }

    @Test func `replaced and removed records disappear from the disk`() async throws {
        let store = try await SQLiteTokenStore.open(at: self.path)
        let (replaced, removed) = (Self.pattern("replaced"), Self.pattern("removed!"))
        try await store.write(replaced, at: self.key, as: .first, expecting: nil)
        try await store.write(removed, at: .account("bob"), as: .first, expecting: nil)
        try #require(self.isOnDisk("replaced"))
        try #require(self.isOnDisk("removed!"))

        try await store.write(SealedBytes(bytes: []), at: self.key, as: Version(2), expecting: .first)
        try await store.remove(.account("bob"), expecting: .first)

        try await eventually("both to be gone") { !self.isOnDisk("replaced") && !self.isOnDisk("removed!") }
        #expect(try await store.read(self.key)?.version == Version(2))
    }

    /// As large as a record can be, so that the value fills whole pages.
    private static func pattern(_ word: String) -> SealedBytes {
        SealedBytes(bytes: Array(repeatElement(Array(word.utf8), count: 5000).joined()))
    }

    private func isOnDisk(_ word: String) -> Bool {
        Self.names.contains { name in
            String(decoding: self.directory.bytes(of: name) ?? [], as: UTF8.self).contains(word + word)
        }
    }
}
