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
}
