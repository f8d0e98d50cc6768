internal import Glibc
internal import TokenModel

/// An open file, closed when it goes out of sight.
struct FileDescriptor: ~Copyable {
    private let number: Int32
    private let path: String

    /// - Parameter flags: as `open(2)` takes them; `O_CLOEXEC` is added.
    init(opening path: String, _ flags: Int32, mode: mode_t = 0) throws(FileError) {
        let number = Self.retrying { unsafe Glibc.open(path, flags | O_CLOEXEC, mode) }
        guard number >= 0 else { throw FileError(errno, "can't open \(path)") }
        self.number = number
        self.path = path
    }

    deinit { Glibc.close(self.number) }

    /// Writes all of `contents`.
    func write(_ contents: Secret) throws(FileError) {
        var written = 0
        while written < contents.count {
            let count = contents.withUnredacted { span in
                unsafe span.extracting(droppingFirst: written).withUnsafeBytes { bytes in
                    Self.retrying { unsafe Glibc.write(self.number, bytes.baseAddress, bytes.count) }
                }
            }
            guard count > 0 else { throw FileError(errno, "can't write \(self.path)") }
            written += count
        }
    }

    /// Reads up to `limit` bytes from the beginning.
    func read(limit: Int) throws(FileError) -> Secret {
        var bytes = [UInt8](repeating: 0, count: limit)
        defer { bytes.wipe() }
        var filled = 0
        while filled < limit {
            let count = unsafe bytes.withUnsafeMutableBytes { buffer in
                Self.retrying {
                    unsafe Glibc.read(self.number, buffer.baseAddress?.advanced(by: filled), limit - filled)
                }
            }
            guard count >= 0 else { throw FileError(errno, "can't read \(self.path)") }
            guard count > 0 else { break }
            filled += count
        }
        return Secret(bytes.prefix(filled))
    }

    /// Returns when what was written would survive a loss of power.
    func synchronize() throws(FileError) {
        guard Self.retrying({ fsync(self.number) }) == 0 else { throw FileError(errno, "can't sync \(self.path)") }
    }

    /// What kind of file it is, and who may read or write it: `st_mode` of `fstat(2)`.
    func mode() throws(FileError) -> mode_t {
        var status = stat()
        guard unsafe fstat(self.number, &status) == 0 else { throw FileError(errno, "can't look at \(self.path)") }
        return status.st_mode
    }

    /// Again while a signal interrupts.
    private static func retrying<Number: FixedWidthInteger>(_ call: () -> Number) -> Number {
        while true {
            let result = call()
            guard result == -1, errno == EINTR else { return result }
        }
    }
}
