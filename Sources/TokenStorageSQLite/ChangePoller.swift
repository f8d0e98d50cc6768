internal import GRDB
internal import Synchronization
internal import TokenStorage

/// Finds the writes of other processes, while at least one stream is open.
///
/// SQLite has no notifications. `PRAGMA data_version` costs a look at shared memory and changes with every commit of
/// another connection, and ``LogWatch`` says when even that is unnecessary. New writes are then found by their change
/// numbers. A record that another process has removed leaves no trace, so there is no hint for it.
final class ChangePoller: Sendable {
    private static let interval = Duration.milliseconds(25)
    private static let batch = 1_000

    /// The position up to which writes are announced. It is kept while no stream is open, so that a new stream gets all
    /// writes since then, and misses none that are written while it is opened.
    private struct Position {
        var dataVersion: Int64?
        var change: Int64
    }

    private let connection: Connection
    private let log: Mutex<LogWatch>
    private let broadcaster: ChangeBroadcaster
    private let position: Mutex<Position>
    private let polling = Mutex<Task<Void, Never>?>(nil)

    /// - Parameters:
    ///   - path: the path of the database.
    ///   - change: the number of the last write before this poller started.
    init(_ connection: Connection, at path: String, after change: Int64, announcingTo broadcaster: ChangeBroadcaster) {
        self.connection = connection
        self.log = Mutex(LogWatch(path: path + "-wal"))
        self.broadcaster = broadcaster
        self.position = Mutex(Position(dataVersion: nil, change: change))
    }

    deinit { self.stop() }

    /// Starts to poll, until no stream is open any more.
    func start() {
        self.polling.withLock { polling in
            guard polling == nil else { return }
            polling = Task { [weak self] in
                while await self?.poll() == true {
                    try? await Task.sleep(for: Self.interval)
                }
            }
        }
    }

    func stop() {
        self.polling.withLock { polling in
            polling?.cancel()
            polling = nil
        }
    }

    /// - Returns: whether to continue.
    private func poll() async -> Bool {
        let isOver = self.polling.withLock { polling in
            guard Task.isCancelled || !self.broadcaster.hasListeners else { return false }
            // If this task is cancelled, `polling` holds another task or none.
            if !Task.isCancelled { polling = nil }
            return true
        }
        guard !isOver else { return false }
        guard self.log.withLock({ $0.mayHaveChanged(at: .now) }) else { return true }
        let position = self.position.withLock { $0 }
        // The next poll makes up for a failed one, because the position stays.
        guard let found = try? await self.connection.run(.reading, { try Self.look($0, from: position) }) else {
            return true
        }
        self.position.withLock { $0 = found.position }
        for change in found.changes { self.broadcaster.announce(change) }
        return true
    }

    private static func look(
        _ database: Database,
        from position: Position
    ) throws -> (changes: [RecordChange], position: Position) {
        // Read this first. A commit between the two statements then has a later data version, and the next poll looks
        // for it again.
        let dataVersion = try Int64.fetchOne(database.cachedStatement(sql: "PRAGMA data_version"))
        guard dataVersion != position.dataVersion else { return ([], position) }
        // Change numbers are never reused. So a lower one means that an older database was put back, and any record may
        // have changed.
        let start = try Records.highestChange(database) < position.change ? 0 : position.change
        let (found, last) = try Records.changes(after: start, limit: Self.batch, database)
        let isWhole = found.count < Self.batch
        return (found, Position(dataVersion: isWhole ? dataVersion : nil, change: last))
    }
}

#if canImport(Glibc)
    import Glibc
#endif

/// Tells at the cost of one system call whether any process may have written to the write-ahead log. A poll of SQLite
/// wakes several threads, and most of the time nothing has happened.
package struct LogWatch {
    /// For this long after a write was seen, the result is yes. A commit's frames are written and on disk before other
    /// connections can see the commit, and two writes may have the same modification time.
    package static let restlessness = Duration.seconds(2)
    /// After this long without a yes, the result is yes whatever the file looks like.
    package static let longestRest = Duration.seconds(1)

    /// The attributes of a file that change with each write.
    private struct Look: Equatable {
        var file: UInt64
        var size: Int64
        var seconds: Int
        var nanoseconds: Int
    }

    private let path: String
    private var look: Look?
    private var restlessUntil: ContinuousClock.Instant?
    private var lastYes: ContinuousClock.Instant?

    /// - Parameter path: the path of the log.
    package init(path: String) {
        self.path = path
    }

    package mutating func mayHaveChanged(at now: ContinuousClock.Instant) -> Bool {
        let look = self.lookNow()
        if look == nil || look != self.look { self.restlessUntil = now + Self.restlessness }
        self.look = look
        let isRestless = self.restlessUntil.map { now < $0 } ?? false
        let isDue = self.lastYes.map { now >= $0 + Self.longestRest } ?? true
        guard isRestless || isDue else { return false }
        self.lastYes = now
        return true
    }

    /// - Returns: `nil` if there is no file.
    private func lookNow() -> Look? {
        var status = stat()
        guard unsafe stat(self.path, &status) == 0 else { return nil }
        return Look(
            file: UInt64(status.st_ino),
            size: Int64(status.st_size),
            seconds: status.st_mtim.tv_sec,
            nanoseconds: status.st_mtim.tv_nsec
        )
    }
}
