import GRDB
import Synchronization
import TestKit
import Testing
import TokenModel
import TokenStorage
import TokenStorageSQLite

/// An older copy that is restored into the database while it is in use, for example with SQLite's backup API.
struct RestoredDatabaseTests {
    /// Keys that were announced as changed.
    private final class Heard: Sendable {
        private let keys = Mutex<[RecordKey]>([])
        var all: [RecordKey] { self.keys.withLock { $0 } }
        func append(_ key: RecordKey) { self.keys.withLock { $0.append(key) } }
        func forget() { self.keys.withLock { $0 = [] } }
    }

    @Test func `each record of a restored copy is announced, because any of them may have changed`() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path(of: "store.db")
        let (kept, lost) = (RecordKey.account("kept"), RecordKey.account("lost"))
        let store = try await SQLiteTokenStore.open(at: path)
        let other = try await SQLiteTokenStore.open(at: path)
        try await store.write(SealedBytes(bytes: [1]), at: kept, as: .first, expecting: nil)
        let copy = try DatabaseQueue(path: directory.path(of: "copy.db"))
        try DatabaseQueue(path: path).backup(to: copy)
        let heard = Heard()
        let changes = store.changes()
        let listening = Task { for await change in changes { heard.append(change.key) } }
        // Another connection writes, so that the store hears of it only by checking the database.
        try await other.write(SealedBytes(bytes: [1]), at: lost, as: .first, expecting: nil)
        try await eventually("what was written to be announced") { Set(heard.all).isSuperset(of: [kept, lost]) }
        heard.forget()

        try copy.backup(to: DatabaseQueue(path: path))

        try await eventually("what is there again to be announced") { heard.all.contains(kept) }
        #expect(try await store.read(lost) == nil)
        listening.cancel()
        await other.close()
        await store.close()
    }
}
