internal import Glibc

/// Where the log goes: a file descriptor that belongs to somebody else, such as standard error.
package struct LogOutput: Sendable {
    private let descriptor: CInt

    package init(descriptor: CInt) {
        self.descriptor = descriptor
    }

    package static let standardError = LogOutput(descriptor: STDERR_FILENO)

    /// Writes all of `bytes`, for however long that takes. What the output refuses (a full disk, a reader that has gone)
    /// is given up and counted.
    func write(_ bytes: [UInt8], _ spill: inout LogSpill) {
        var rest = bytes[...]
        if spill.cutsLine { rest.insert(UInt8(ascii: "\n"), at: rest.startIndex) }
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(self.descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                spill.cutsLine = rest[rest.startIndex + count - 1] != UInt8(ascii: "\n")
                rest = rest.dropFirst(count)
            } else if count < 0, errno == EAGAIN {
                // Somebody who shares the descriptor has made it non-blocking.
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
    /// Lines of which at least the end was not written, and that nobody was told about yet.
    var lines = 0
    /// The last line that went out has no end.
    var cutsLine = false
}
