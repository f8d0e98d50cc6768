internal import Glibc
internal import Synchronization

/// How long the operation that a connection is busy with may go on waiting for another process's lock.
///
/// SQLite asks it between tries, on the connection's own thread.
final class Patience: Sendable {
    private let end = Mutex(ContinuousClock.now)

    /// Sets it for the operation that begins.
    func lasts(until end: ContinuousClock.Instant) {
        self.end.withLock { $0 = end }
    }

    /// Waits a little, longer after more tries.
    ///
    /// - Returns: whether to try again.
    func wait(afterTries tries: Int) -> Bool {
        guard ContinuousClock.now < self.end.withLock({ $0 }) else { return false }
        let milliseconds = min(1 << min(tries, 4), 10)
        usleep(UInt32(milliseconds) * 1000)
        return true
    }
}
