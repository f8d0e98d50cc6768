internal import Dispatch
internal import GRDB
package import TokenModel
package import TokenStorage

/// Keeps records in one SQLite database file, which several processes on one host may share.
///
/// A write is on the disk when it returns (write-ahead log, `synchronous=FULL`). The file and its companions `-wal`,
/// `-shm` and `.lock` can be read by their owner only; replaced and removed records are overwritten, in the file at once
/// and in the log within seconds. Commits and checkpoints of all processes exclude each other by `.lock`.
package final class SQLiteTokenStore: TokenStore {
    private let file: DatabaseFile
    private let lock: DatabaseLock
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
    /// - Parameters:
    ///   - trimming: when the write-ahead log is emptied.
    ///   - fileSystem: tells what a path is on.
    /// - Throws: ``StoreError/Code/unreachable`` where `path` can't be a database (no directory, a directory itself, a
    ///   lock held by another process), ``StoreError/Code/unwritable`` without the rights or the space, and
    ///   on a network file system, ``StoreError/Code/unreadable`` for a file that is no database, damaged, or another
    ///   program's.
    package static func open(
        at path: String,
        trimming: LogTrimming = LogTrimming(),
        on fileSystem: @escaping @Sendable (_ path: String) -> FileSystem? = { FileSystem(of: $0) }
    ) async throws(StoreError) -> SQLiteTokenStore {
        let opened: Result<SQLiteTokenStore, StoreError> = await withCheckedContinuation { continuation in
            Self.blockingQueue().async {
                let result: Result<SQLiteTokenStore, StoreError>
                do throws(StoreError) {
                    try fileSystem(path)?.check(path: path)
                    result = .success(try SQLiteTokenStore(path: path, trimming))
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

    private init(path: String, _ trimming: LogTrimming) throws(StoreError) {
        let deadline = ContinuousClock.now + Connection.lockLimit
        let file = try DatabaseFile(preparing: path)
        let lock = try DatabaseLock.of(path)
        let connections: Connections
        do {
            connections = try lock.withLock(until: deadline) { try Connections(path: path, by: deadline) }
        } catch {
            throw StoreError(error, attempt: .opening, path: path)
        }
        (self.file, self.lock) = (file, lock)
        (self.writer, self.reader) = (connections.writer, connections.reader)
        self.broadcaster = ChangeBroadcaster()
        self.poller = ChangePoller(
            connections.reader,
            at: path,
            after: connections.lastChange,
            announcingTo: self.broadcaster
        )
        let (broadcaster, trimmer) = (self.broadcaster, LogTrimmer(connections.trimmer, lock, at: path, trimming))
        self.trimmer = trimmer
        self.groups = GroupCommit(connections.writer, file, lock) { change in
            broadcaster.announce(change)
            trimmer.logGrew()
        }
        // What a process left that was killed.
        trimmer.logGrew()
    }

    /// What is opened under the lock.
    private struct Connections {
        let writer: Connection
        let reader: Connection
        let trimmer: Connection
        let lastChange: Int64

        init(path: String, by deadline: ContinuousClock.Instant) throws(StoreError) {
            self.writer = try Connection(path: path, label: "martlet.store.writer", by: deadline)
            try self.writer.runAtOpening(by: deadline) { try Schema.prepare($0, path: path) }
            self.reader = try Connection(path: path, label: "martlet.store.reader", by: deadline)
            self.lastChange = try self.reader.runAtOpening(by: deadline) { database in
                try database.execute(sql: "PRAGMA query_only = ON")
                return try Records.lastChange(database)
            }
            self.trimmer = try Connection(path: path, label: "martlet.store.trimmer", by: deadline)
        }
    }

    package var guarantees: StoreGuarantees { StoreGuarantees(reach: .host) }

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
        try await self.groups.run(RecordChange(key: key, version: version)) { database in
            try Records.write(value, at: key, as: version, expecting: expecting, database)
        }
    }

    package func remove(_ key: RecordKey, expecting: Version) async throws(StoreError) {
        try await self.groups.run(RecordChange(key: key, version: nil)) { database in
            try Records.remove(key, expecting: expecting, database)
        }
    }

    package func records(
        under prefix: RecordKey.Prefix,
        after: RecordKey?,
        limit: Int
    ) async throws(StoreError) -> [KeyedRecord] {
        try StoreError.checkLimit(limit)
        let file = self.file
        return try await self.reader.run(.reading) { database in
            try file.checkInPlace()
            return try Records.page(under: prefix, after: after, limit: limit, database)
        }
    }

    package func changes() -> AsyncStream<RecordChange> {
        defer { self.poller.start() }
        return self.broadcaster.listen()
    }

    /// Ends all streams of changes, finishes the operations under way and lets go of the file; operations fail from
    /// then on.
    package func close() async {
        self.broadcaster.finish()
        self.poller.stop()
        await withCheckedContinuation { continuation in
            Self.blockingQueue().async {
                // What is under way needs the lock itself.
                self.writer.drain()
                self.trimmer.stop()
                do {
                    try self.lock.withLock(until: .now + Connection.lockLimit) {
                        self.reader.close()
                        self.trimmer.trimLast()
                        self.closeConnections()
                    }
                } catch {
                    // SQLite itself makes no checkpoint then, so nobody's commit is in danger.
                    self.closeConnections()
                }
                continuation.resume()
            }
        }
    }

    private func closeConnections() {
        self.reader.close()
        self.trimmer.close()
        self.writer.close()
    }
}
