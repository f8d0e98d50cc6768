import GRDBSQLite
import Synchronization
import TestKit
import Testing
import TokenModel
import TokenStorage
import TokenStorageSQLite

/// Acknowledged writes are on the disk. The test observes the layer below SQLite that writes and syncs files.
struct DurabilityTests {
    /// Runs in a separate process, whose databases all use the counting layer.
    @Test func `a write returns only after the log has been synced`() async throws {
        await #expect(processExitsWith: .success) {
            try LogSyncs.begin()
            let directory = try TemporaryDirectory()
            let store = try await SQLiteTokenStore.open(at: directory.path(of: "store.db"))
            for number in 1...5 {
                let before = LogSyncs.seen
                try await store.write(SealedBytes(bytes: [1]), at: .account(String(number)), as: .first, expecting: nil)
                let after = LogSyncs.seen
                #expect(after.writes > before.writes)
                #expect(after.syncs > before.syncs)
                #expect(after.unsynced == 0)
            }
            await store.close()
        }
    }
}

/// SQLite's file layer (sqlite.org/vfs.html) with counters for writes and syncs of write-ahead logs.
private enum LogSyncs {
    struct Seen {
        var writes = 0
        var syncs = 0
        /// Writes since the last sync.
        var unsynced = 0
    }

    private static let counts = Mutex(Seen())
    /// SAFETY: set once by `begin`, before any database is opened.
    nonisolated(unsafe) private static var original = unsafe sqlite3_vfs()
    /// SAFETY: as `original`.
    nonisolated(unsafe) private static var layer = unsafe sqlite3_vfs()
    /// SAFETY: all files of one file system have the same methods. Set under SQLite's mutex for the first log.
    nonisolated(unsafe) private static var originalMethods = sqlite3_io_methods()
    /// SAFETY: as `originalMethods`.
    nonisolated(unsafe) private static var methods = sqlite3_io_methods()

    static var seen: Seen { Self.counts.withLock { $0 } }

    static func begin() throws {
        unsafe Self.original = try #require(unsafe sqlite3_vfs_find(nil)).pointee
        unsafe Self.layer = Self.original
        unsafe Self.layer.xOpen = { layer, name, file, flags, outFlags in
            let code = unsafe LogSyncs.original.xOpen(layer, name, file, flags, outFlags)
            guard code == SQLITE_OK, flags & SQLITE_OPEN_WAL != 0, let file = unsafe file else { return code }
            unsafe LogSyncs.originalMethods = file.pointee.pMethods.pointee
            unsafe LogSyncs.methods = LogSyncs.originalMethods
            unsafe LogSyncs.methods.xWrite = { file, bytes, count, offset in
                LogSyncs.counts.withLock { seen in
                    seen.writes += 1
                    seen.unsynced += 1
                }
                return unsafe LogSyncs.originalMethods.xWrite(file, bytes, count, offset)
            }
            unsafe LogSyncs.methods.xSync = { file, flags in
                let code = unsafe LogSyncs.originalMethods.xSync(file, flags)
                LogSyncs.counts.withLock { seen in
                    seen.syncs += 1
                    seen.unsynced = 0
                }
                return code
            }
            unsafe withUnsafePointer(to: &LogSyncs.methods) { unsafe file.pointee.pMethods = $0 }
            return code
        }
        try #require(unsafe sqlite3_vfs_register(&Self.layer, 1) == SQLITE_OK)
    }
}
