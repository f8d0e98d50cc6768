internal import Glibc
internal import TokenModel

/// An open file, closed at the end of its life. What is asked of it is asked of the same file, even if its name comes to
/// mean another one.
package struct OpenFile: ~Copyable, Sendable {
    let number: Int32
    let path: String

    /// - Parameter flags: as `open(2)` takes them; `O_CLOEXEC` is added.
    package init(opening path: String, _ flags: Int32, mode: UInt32 = 0) throws(SystemCallError) {
        let number = Self.retrying { unsafe Glibc.open(path, flags | O_CLOEXEC, mode) }
        guard number >= 0 else { throw SystemCallError(errno, "can't open \(path)") }
        self.number = number
        self.path = path
    }

    deinit {
        // A process that is just being started has this file too, until its program runs; a lock would live on there.
        _ = flock(self.number, LOCK_UN)
        Glibc.close(self.number)
    }

    /// Writes all of `contents`.
    func write(_ contents: Secret) throws(SystemCallError) {
        var written = 0
        while written < contents.count {
            let count = contents.withUnredacted { span in
                unsafe span.extracting(droppingFirst: written).withUnsafeBytes { bytes in
                    Self.retrying { unsafe Glibc.write(self.number, bytes.baseAddress, bytes.count) }
                }
            }
            guard count > 0 else { throw SystemCallError(errno, "can't write \(self.path)") }
            written += count
        }
    }

    /// Reads up to `limit` bytes from the beginning.
    package func read(limit: Int) throws(SystemCallError) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: min(limit, 16_384))
        while bytes.count < limit {
            let count = unsafe chunk.withUnsafeMutableBytes { buffer in
                Self.retrying {
                    unsafe Glibc.read(self.number, buffer.baseAddress, min(buffer.count, limit - bytes.count))
                }
            }
            guard count >= 0 else { throw SystemCallError(errno, "can't read \(self.path)") }
            guard count > 0 else { break }
            bytes += chunk[..<count]
        }
        return bytes
    }

    /// Returns when what was written would survive a loss of power.
    package func synchronize() throws(SystemCallError) {
        guard Self.retrying({ fsync(self.number) }) == 0 else {
            throw SystemCallError(errno, "can't sync \(self.path)")
        }
    }

    /// What kind of file it is, who owns it and what its mode allows.
    package func ownership() throws(SystemCallError) -> FileOwnership {
        var status = stat()
        guard unsafe fstat(self.number, &status) == 0 else {
            throw SystemCallError(errno, "can't look at \(self.path)")
        }
        return FileOwnership(status)
    }

    /// Again while a signal interrupts.
    static func retrying<Number: FixedWidthInteger>(_ call: () -> Number) -> Number {
        while true {
            let result = call()
            guard result == -1, errno == EINTR else { return result }
        }
    }
}
