internal import Dispatch
internal import GRDB
package import TokenModel
package import TokenStorage

/// Keeps records in one SQLite database file, which several processes on one host may share.
///
/// A write is on the disk when it returns (write-ahead log, `synchronous=FULL`). The file and its companions `-wal` and
/// `-shm` can be read by their owner only; replaced and removed records are overwritten, in the file at once and in the
/// log within seconds.
package final class SQLiteTokenStore: TokenStore {
    private let file: DatabaseFile
    /// Serializes this process's writes before they meet the file's lock.
    private let writer: Connection
    private let groups: GroupCommit
    /// Reads while the writer waits, and sees the writer's commits as another's.
    private let reader: Connection
    private let broadcaster: ChangeBroadcaster
    private let poller: ChangePoller
    private let trimmer: LogTrimmer

    /// Opens the database at `path`, making it where there is none.
    ///
    /// - Throws: ``StoreError/Code/unreachable`` where `path` can't be a database (no directory, a directory itself, a
    ///   lock held by another process), ``StoreError/Code/unwritable`` without the rights or the space,
    ///   ``StoreError/Code/unreadable`` for a file that is no database, damaged, or another program's.
    package static func open(at path: String) async throws(StoreError) -> SQLiteTokenStore {
        let opened: Result<SQLiteTokenStore, StoreError> = await withCheckedContinuation { continuation in
            Self.blockingQueue().async {
                let result: Result<SQLiteTokenStore, StoreError>
                do throws(StoreError) {
                    result = .success(try SQLiteTokenStore(path: path))
                } catch {
                    result = .failure(error)
                }
                continuation.resume(returning: result)
            }
        }
        return try opened.get()
    }

    /// A thread for what blocks. The global queues share their few threads with all tasks; a serial queue of one's own has
    /// a thread whenever it needs one.
    private static func blockingQueue() -> DispatchQueue {
        DispatchQueue(label: "martlet.store.blocking")
    }

    private init(path: String) throws(StoreError) {
        self.file = try DatabaseFile(preparing: path)
        self.writer = try Connection(path: path, label: "martlet.store.writer")
        try self.writer.runAtOpening { try Schema.prepare($0, path: path) }
        self.reader = try Connection(path: path, label: "martlet.store.reader")
        let lastChange = try self.reader.runAtOpening { database in
            try database.execute(sql: "PRAGMA query_only = ON")
            return try Records.lastChange(database)
        }
        self.broadcaster = ChangeBroadcaster()
        self.poller = ChangePoller(
            self.reader,
            at: path,
            after: lastChange,
            announcingTo: self.broadcaster
        )
        let (broadcaster, trimmer) = (self.broadcaster, try LogTrimmer(path: path))
        self.trimmer = trimmer
        self.groups = GroupCommit(self.writer, self.file) { key in
            broadcaster.announce(key)
            trimmer.logGrew()
        }
    }

    package func read(_ key: RecordKey) async throws(StoreError) -> StoredRecord? {
        let file = self.file
        return try await self.reader.run(.reading) { database in
            try file.checkInPlace()
            return try Records.read(key, database)
        }
    }

    package func write(
        _ value: SealedBytes,
        at key: RecordKey,
        as version: Version,
        expecting: Version?
    ) async throws(StoreError) {
        try StoreError.checkWrite(value, at: key, as: version, expecting: expecting)
        try await self.groups.run(key) { database in
            try Records.write(value, at: key, as: version, expecting: expecting, database)
        }
    }

    package func remove(_ key: RecordKey, expecting: Version) async throws(StoreError) {
        try await self.groups.run(key) { database in
            try Records.remove(key, expecting: expecting, database)
        }
    }

    package func keys(
        under prefix: RecordKey.Prefix,
        after: RecordKey?,
        limit: Int
    ) async throws(StoreError) -> [RecordKey] {
        try StoreError.checkLimit(limit)
        let file = self.file
        return try await self.reader.run(.reading) { database in
            try file.checkInPlace()
            return try Records.keys(under: prefix, after: after, limit: limit, database)
        }
    }

    package func changes() -> AsyncStream<RecordKey> {
        defer { self.poller.start() }
        return self.broadcaster.listen()
    }

    /// Ends all streams of changes, finishes the operations under way and lets go of the file; operations fail from
    /// then on.
    package func close() async {
        self.broadcaster.finish()
        self.poller.stop()
        self.trimmer.stop()
        await withCheckedContinuation { continuation in
            Self.blockingQueue().async {
                self.trimmer.close()
                self.reader.close()
                self.writer.close()
                continuation.resume()
            }
        }
    }
}
