internal import Glibc

/// Where the program's text goes.
enum Console {
    /// A result, to standard output.
    static func say(_ text: String) {
        print(text)
    }

    /// Sees to it that all results are out. A reader that has gone, as behind `head`, wanted no more of them.
    ///
    /// - Throws: where they are lost: a key that is shown once would be gone without a word.
    static func finish() throws(CommandFailure) {
        guard fflush(nil) != 0, errno != EPIPE else { return }
        let reason = unsafe String(cString: strerror(errno))
        throw CommandFailure(.no, "what the command printed is lost: \(reason); what it was to do is done")
    }

    /// A result that somebody may be waiting for at the other end of a pipe: to standard output, unbuffered.
    static func announce(_ line: String) {
        // A closed standard output keeps nobody from serving.
        _ = try? Self.write(Array("\(PlainText.line(line))\n".utf8), to: STDOUT_FILENO)
    }

    /// The same where it can't be waited for: left out when nobody takes it at once.
    static func offer(_ line: String) {
        var output = pollfd(fd: STDOUT_FILENO, events: Int16(POLLOUT), revents: 0)
        guard unsafe poll(&output, 1, 0) == 1, output.revents == Int16(POLLOUT) else { return }
        Self.announce(line)
    }

    /// A failure or a warning: one line to standard error.
    static func complain(_ message: String) {
        let line = PlainText.line(message)
        // Nobody could be told about a failure here.
        _ = try? Self.write(Array("martlet: \(line)\n".utf8), to: STDERR_FILENO)
    }

    /// A fault of a file, which names itself: one line to standard error.
    static func report(_ fault: String) {
        _ = try? Self.write(Array("\(PlainText.line(fault))\n".utf8), to: STDERR_FILENO)
    }

    /// A question on standard error, without the end of a line.
    static func ask(_ question: String) {
        _ = try? Self.write(Array(question.utf8), to: STDERR_FILENO)
    }

    /// Text as it is, to standard output, unbuffered.
    ///
    /// - Returns: whether somebody took it.
    static func show(_ text: String) -> Bool {
        (try? Self.write(Array(text.utf8), to: STDOUT_FILENO)) != nil
    }

    private struct WriteFailure: Error {}

    private static func write(_ bytes: [UInt8], to descriptor: CInt) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw WriteFailure() }
            rest = rest.dropFirst(count)
        }
    }
}
