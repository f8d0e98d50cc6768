internal import Dispatch
internal import Glibc
internal import Synchronization
internal import SystemSupport
internal import TokenStorage

/// Excludes commits and checkpoints of one database from each other, over all threads and processes of this host.
///
/// SQLite before 3.51.3 can lose commits when a checkpoint overlaps a commit that resets the write-ahead log
/// (sqlite.org/wal.html, "The WAL-reset bug"). So every process holds this lock to open, commit, make a checkpoint or
/// close.
///
/// The lock is flock(2) on a file of its own, `<database>.lock`, because closing any descriptor of the database, its
/// log or its index drops SQLite's locks on them. The file is never removed. A process that finds the file removed or
/// replaced opens the new one.
///
/// A process that commits without a pause would get the lock again before any other process tries. So processes first
/// wait in a queue, which is an fcntl(2) lock on the same file. One process at a time tries for the lock itself, and
/// the process that has just released the lock comes after it. The queue is a courtesy: a process that is stopped in
/// the queue delays the others by ``longestQueueWait`` each time.
final class DatabaseLock: Sendable {
    private struct Known {
        weak var lock: DatabaseLock?
    }

    /// One lock per path, because two descriptors in one process exclude each other as two processes do: their threads
    /// could only poll, and not queue.
    private static let known = Mutex<[String: Known]>([:])

    /// The pauses between tries in microseconds: for processes in the queue, and for the process at its head.
    private static let pauses: (waiting: UInt32, next: UInt32) = (1_000, 200)
    /// The longest wait in the queue, which is the time of many commits.
    private static let longestQueueWait = Duration.milliseconds(200)

    private let database: String
    /// The queue of this process's threads.
    private let turn = DispatchSemaphore(value: 1)
    private let file: Mutex<OpenFile>

    /// The lock of the database at `path`. Makes its file if there is none.
    static func of(_ path: String) throws(StoreError) -> DatabaseLock {
        try Self.known.withLock { known throws(StoreError) in
            if let lock = known[path]?.lock { return lock }
            let lock = DatabaseLock(path, try Self.open(for: path))
            known = known.filter { $0.value.lock != nil }
            known[path] = Known(lock: lock)
            return lock
        }
    }

    private init(_ database: String, _ file: consuming OpenFile) {
        self.database = database
        self.file = Mutex(file)
    }

    /// Runs `body` while holding the lock.
    ///
    /// - Throws: ``StoreError/Code/unreachable`` if the lock can't be taken by `deadline`, for instance from a process
    ///   that is stopped while it holds the lock.
    func withLock<Value>(until deadline: ContinuousClock.Instant, _ body: () throws -> Value) throws -> Value {
        try self.take(until: deadline)
        defer { self.letGo() }
        return try body()
    }

    private func take(until deadline: ContinuousClock.Instant) throws(StoreError) {
        let rest = max(ContinuousClock.now.duration(to: deadline), .zero)
        guard self.turn.wait(timeout: .now() + .nanoseconds(Int(rest / .nanoseconds(1)))) == .success else {
            throw self.late
        }
        let patience = min(deadline, .now + Self.longestQueueWait)
        while !self.file.withLock({ $0.lockQueue() }), ContinuousClock.now < patience { usleep(Self.pauses.waiting) }
        do throws(StoreError) {
            while try !self.tryFile() {
                guard ContinuousClock.now < deadline else { throw self.late }
                usleep(Self.pauses.next)
            }
            self.file.withLock { $0.unlockQueue() }
        } catch {
            // Before the next thread of this process tries: both have the same opening of the file.
            self.file.withLock { $0.unlockQueue() }
            self.turn.signal()
            throw error
        }
    }

    private func letGo() {
        self.file.withLock { $0.unlock() }
        self.turn.signal()
    }

    /// - Returns: whether the lock is held now.
    private func tryFile() throws(StoreError) -> Bool {
        try self.file.withLock { file throws(StoreError) in
            do throws(SystemCallError) {
                guard try file.lock() else { return false }
                guard try !file.isInPlace() else { return true }
            } catch {
                file.unlock()
                throw StoreError(.unreachable, error.message)
            }
            file.unlock()
            file = try Self.open(for: self.database)
            return false
        }
    }

    private var late: StoreError {
        StoreError(
            .unreachable,
            "can't lock the database \(self.database) in time: another process holds \(Self.path(for: self.database)), "
                + "or its disk is slow"
        )
    }

    private static func path(for database: String) -> String { database + ".lock" }

    /// Opens the lock file. Rejects what ``DatabaseFile`` rejects: symbolic links, and files of other users.
    private static func open(for database: String) throws(StoreError) -> OpenFile {
        let path = Self.path(for: database)
        try DatabaseFile.restrict(path)
        do throws(SystemCallError) {
            return try OpenFile(opening: path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, mode: 0o600)
        } catch {
            throw StoreError(error.isMissing ? .unreachable : .unwritable, error.message)
        }
    }
}
