internal import Dispatch
internal import GRDB
package import TokenModel
package import TokenStorage

/// A store in one SQLite database file, which several processes on one host may share.
///
/// A write is on disk when it returns (write-ahead log, `synchronous=FULL`). The file and its companions `-wal`, `-shm`
/// and `.lock` are accessible to their owner only. Replaced and removed records are overwritten: in the database file
/// at once, in the write-ahead log within seconds. The lock on `.lock` excludes commits and checkpoints of all
/// processes from each other.
package final class SQLiteTokenStore: TokenStore {
    private let file: DatabaseFile
    private let lock: DatabaseLock
    /// Runs this process's writes one after another, before they wait for the file's lock.
    private let writer: Connection
    private let groups: GroupCommit
    /// Reads while the writer waits. It sees the writer's commits as those of another connection.
    private let reader: Connection
    private let broadcaster: ChangeBroadcaster
    private let poller: ChangePoller
    private let trimmer: LogTrimmer

    /// Opens the database at `path`, or creates it.
    ///
    /// - Parameters:
    ///   - trimming: when the write-ahead log is emptied.
    ///   - fileSystem: detects the file system of a path.
    /// - Throws: ``StoreError/Code/unreachable`` if `path` can't be a database (no such directory, a directory itself,
    ///   a lock held by another process); ``StoreError/Code/unwritable`` without the permissions or the space, and on a
    ///   network file system; ``StoreError/Code/unreadable`` for a file that is not a database, is damaged, or belongs
    ///   to another program.
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

    /// A queue for blocking work. The global queues share their few threads with all tasks; a serial queue of its own
    /// gets a thread whenever it needs one.
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
        // Trims what a killed process has left in the log.
        trimmer.logGrew()
    }

    /// The connections, which are opened under the lock.
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

    /// Ends all streams of changes, finishes the operations in progress and closes the file. Later operations fail.
    package func close() async {
        self.broadcaster.finish()
        self.poller.stop()
        await withCheckedContinuation { continuation in
            Self.blockingQueue().async {
                // Operations in progress need the lock themselves, so wait for them first.
                self.writer.drain()
                self.trimmer.stop()
                do {
                    try self.lock.withLock(until: .now + Connection.lockLimit) {
                        self.reader.close()
                        self.trimmer.trimLast()
                        self.closeConnections()
                    }
                } catch {
                    // SQLite makes no checkpoint on close by itself, so no commit of another process is at risk.
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
