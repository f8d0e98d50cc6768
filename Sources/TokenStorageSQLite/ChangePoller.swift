internal import GRDB
internal import Synchronization
internal import TokenStorage

/// Finds out what other processes wrote, while somebody listens.
///
/// SQLite has no way to be told. `PRAGMA data_version` costs a look at shared memory and changes with every commit of
/// another connection, and ``LogWatch`` tells when not even that is worth it; what was
/// written is then found by its change numbers. Records that another process removed leave
/// nothing to find: no hint comes of them.
final class ChangePoller: Sendable {
    private static let interval = Duration.milliseconds(25)
    private static let batch = 1_000

    /// What has been seen, kept while nobody listens: a new listener then hears of all that was written meanwhile, and
    /// not nothing of what is written while it joins.
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
    ///   - path: of the database.
    ///   - change: number of the last write before this poller's time.
    init(_ connection: Connection, at path: String, after change: Int64, announcingTo broadcaster: ChangeBroadcaster) {
        self.connection = connection
        self.log = Mutex(LogWatch(path: path + "-wal"))
        self.broadcaster = broadcaster
        self.position = Mutex(Position(dataVersion: nil, change: change))
    }

    deinit { self.stop() }

    /// Polls from now on, until nobody listens any more.
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

    /// - Returns: whether to go on.
    private func poll() async -> Bool {
        let isOver = self.polling.withLock { polling in
            guard Task.isCancelled || !self.broadcaster.hasListeners else { return false }
            // A cancelled task is not the one that stands there.
            if !Task.isCancelled { polling = nil }
            return true
        }
        guard !isOver else { return false }
        guard self.log.withLock({ $0.mayHaveChanged(at: .now) }) else { return true }
        let position = self.position.withLock { $0 }
        // A poll that failed is made up for by the next: the position stays.
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
        // Read first: what is committed between the two statements has a later version, and is looked for again.
        let dataVersion = try Int64.fetchOne(database.cachedStatement(sql: "PRAGMA data_version"))
        guard dataVersion != position.dataVersion else { return ([], position) }
        // Numbers never come again: a lower one tells that an older database was put back, and any record may be another.
        let start = try Records.highestChange(database) < position.change ? 0 : position.change
        let (found, last) = try Records.changes(after: start, limit: Self.batch, database)
        let isWhole = found.count < Self.batch
        return (found, Position(dataVersion: isWhole ? dataVersion : nil, change: last))
    }
}

#if canImport(Glibc)
    import Glibc
#endif

/// Tells from outside, at the cost of one system call, whether anyone may have written to the write-ahead log: a poll that
/// asks SQLite wakes several threads, and most of the time nothing has happened.
package struct LogWatch {
    /// For so long after a write was seen the answer is yes: a commit's frames are written, and on the disk, before others
    /// can see it; and two writes may have one time.
    package static let restlessness = Duration.seconds(2)
    /// After so long without a yes it is yes whatever the file looks like.
    package static let longestRest = Duration.seconds(1)

    /// What changes of a file with each write.
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

    /// - Parameter path: of the log.
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

    /// - Returns: `nil` where there is nothing to look at.
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
