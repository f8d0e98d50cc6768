internal import Glibc

/// The destination of the log: a file descriptor that this type does not own, such as standard error.
package struct LogOutput: Sendable {
    private let descriptor: CInt

    package init(descriptor: CInt) {
        self.descriptor = descriptor
    }

    package static let standardError = LogOutput(descriptor: STDERR_FILENO)

    /// Writes all of `bytes`, however long that takes. Lines that the output refuses (a full disk, a closed pipe) are
    /// dropped and counted.
    func write(_ bytes: [UInt8], _ spill: inout LogSpill) {
        var rest = bytes[...]
        if spill.cutsLine { rest.insert(UInt8(ascii: "\n"), at: rest.startIndex) }
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(self.descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                spill.cutsLine = rest[rest.startIndex + count - 1] != UInt8(ascii: "\n")
                rest = rest.dropFirst(count)
            } else if count < 0, errno == EAGAIN {
                // Another process that shares the descriptor has made it non-blocking.
                var request = pollfd(fd: self.descriptor, events: Int16(POLLOUT), revents: 0)
                _ = unsafe poll(&request, 1, -1)
            } else if count == 0 || errno != EINTR {
                spill.lines += rest.count { $0 == UInt8(ascii: "\n") }
                return
            }
        }
    }
}

/// What an output has refused so far.
struct LogSpill {
    /// Lines whose end was not written, and that are not reported in the log yet.
    var lines = 0
    /// The last written line has no line feed.
    var cutsLine = false
}
