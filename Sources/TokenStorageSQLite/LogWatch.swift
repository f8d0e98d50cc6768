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
