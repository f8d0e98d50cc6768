internal import Glibc

/// Tells whether a source of keys was changed, without reading a key.
package struct KeyRingRevision: Equatable, Sendable {
    private let inode: UInt64
    private let size: Int64
    private let seconds: Int64
    private let nanoseconds: Int64

    /// Of the file at `path`; `nil` where there is none.
    init?(ofFile path: String) {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        self.inode = UInt64(status.st_ino)
        self.size = Int64(status.st_size)
        self.seconds = Int64(status.st_mtim.tv_sec)
        self.nanoseconds = Int64(status.st_mtim.tv_nsec)
    }

    /// How long ago the file was written, by the wall clock; never negative.
    var age: Duration {
        var now = timespec()
        guard unsafe clock_gettime(CLOCK_REALTIME, &now) == 0 else { return .zero }
        let age =
            Duration.seconds(Int64(now.tv_sec) - self.seconds) + .nanoseconds(Int64(now.tv_nsec) - self.nanoseconds)
        return max(age, .zero)
    }
}
