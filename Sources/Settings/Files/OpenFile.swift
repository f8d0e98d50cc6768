internal import Glibc

/// A file that is open for reading; closed at the end of its life. What is asked of it is asked of the same file, even if
/// its name comes to mean another one.
struct OpenFile: ~Copyable {
    private let descriptor: CInt

    /// - Parameter waits: whether opening may wait for a writer, as a pipe's does (`--config <(…)`).
    init(_ path: String, waits: Bool) throws(FileError) {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | (waits ? 0 : O_NONBLOCK))
        guard descriptor >= 0 else { throw Self.failure() }
        self.descriptor = descriptor
    }

    deinit { close(self.descriptor) }

    /// Who owns the file and what its mode allows.
    func ownership() throws(FileError) -> FileOwnership {
        var status = stat()
        guard unsafe fstat(self.descriptor, &status) == 0 else { throw Self.failure() }
        return FileOwnership(
            owner: status.st_uid,
            mode: status.st_mode & 0o7777,
            isRegular: status.st_mode & S_IFMT == S_IFREG
        )
    }

    /// All bytes, if there are no more than `limit`.
    func bytes(atMost limit: Int) throws(FileError) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = unsafe chunk.withUnsafeMutableBytes { unsafe read(self.descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Self.failure() }
            guard count > 0 else { return bytes }
            bytes += chunk[..<count]
            guard bytes.count <= limit else {
                throw FileError(.tooLarge, "is larger than \(Quantity.text(limit))")
            }
        }
    }

    private static func failure() -> FileError {
        FileError(.unreadable, "can't be read: \(unsafe String(cString: strerror(errno)))")
    }
}
