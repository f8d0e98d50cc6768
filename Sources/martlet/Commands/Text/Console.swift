internal import Glibc
internal import Synchronization

/// Where the program's text goes.
package enum Console {
    /// Why the first result that could not be written was not.
    private static let loss = Mutex<WriteFailure?>(nil)

    /// Takes the descriptors 0 to 2 where the program was started without them: a file that it opens would get one
    /// otherwise, and have results or complaints written into it. To be called before anything is opened.
    static func holdDescriptors() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            // The lowest that is free. What is written there fails as it would without: nobody gets it.
            _ = unsafe open("/dev/null", O_RDONLY)
        }
    }

    /// A result, to standard output.
    static func say(_ text: String) {
        self.loss.withLock { loss in
            // A part that is missing in the middle would not be seen.
            guard loss == nil else { return }
            do throws(WriteFailure) {
                try self.write(Array("\(text)\n".utf8), to: STDOUT_FILENO)
            } catch {
                loss = error
            }
        }
    }

    /// Tells whether all results are out. A reader that has gone, as behind `head`, wanted no more of them.
    ///
    /// - Throws: where they are lost: a key that is shown once would be gone without a word.
    static func finish() throws(CommandFailure) {
        guard let loss = self.loss.withLock({ $0 }), !loss.isForWantOfReader else { return }
        throw loss.failure
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
        _ = try? Self.write(Array("\(PlainText.line(line))\n".utf8), to: STDOUT_FILENO, patience: 0)
    }

    /// A failure or a warning: one line to standard error.
    static func complain(_ message: String) {
        Self.tell("martlet: \(PlainText.line(message))\n", on: STDERR_FILENO, patience: Self.patience)
    }

    /// A fault of a file, which names itself: one line to standard error.
    static func report(_ fault: String) {
        Self.tell("\(PlainText.line(fault))\n", on: STDERR_FILENO, patience: Self.patience)
    }

    /// How far something is: one line to standard error, left out when nobody takes it at once.
    static func mention(_ progress: String) {
        Self.tell("\(PlainText.line(progress))\n", on: STDERR_FILENO)
    }

    /// A question on standard error, without the end of a line.
    static func ask(_ question: String) {
        Self.tell(question, on: STDERR_FILENO)
    }

    /// How long a failure waits for somebody to read what stands before it, such as a pager, in milliseconds.
    private static let patience: CInt = 2_000

    /// What goes with the results, to standard error. What finds no room there is left out: a command must not go on for
    /// ever because nobody reads how far it is.
    ///
    /// - Parameter patience: how long to wait for room, in milliseconds.
    package static func tell(_ text: String, on output: CInt, patience: CInt = 0) {
        // Nobody could be told about a failure here.
        _ = try? Self.write(Array(text.utf8), to: output, patience: patience)
    }

    /// Text as it is, to standard output, unbuffered.
    ///
    /// - Returns: whether somebody reads it still.
    /// - Throws: as ``finish()``.
    static func show(_ text: String) throws(CommandFailure) -> Bool {
        do throws(WriteFailure) {
            try Self.write(Array(text.utf8), to: STDOUT_FILENO)
            return true
        } catch {
            guard error.isForWantOfReader else { throw error.failure }
            return false
        }
    }

    /// Why text could not be written.
    package struct WriteFailure: Error {
        /// The system's.
        package let number: CInt

        var isForWantOfReader: Bool { self.number == EPIPE }

        var failure: CommandFailure {
            let reason = SystemText.reason(self.number)
            return CommandFailure(.no, "what the command printed is lost: \(reason); what it was to do is done")
        }
    }

    /// All of `bytes`, however long that takes the reader.
    ///
    /// - Parameter patience: how long to wait for room each time, in milliseconds; what has none then is lost, also where the
    ///   descriptor waits by itself. `nil` waits for ever.
    /// - Throws: where nobody can take them.
    package static func write(_ bytes: [UInt8], to descriptor: CInt, patience: CInt? = nil) throws(WriteFailure) {
        var rest = bytes[...]
        while !rest.isEmpty {
            if let patience, !Self.hasRoom(at: descriptor, within: patience) { throw WriteFailure(number: EAGAIN) }
            // Where a pipe that nobody else writes to has room, so much does not wait; at a terminal it may.
            let piece = patience == nil ? rest : rest.prefix(Int(PIPE_BUF))
            let count = unsafe piece.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
            let number = count < 0 ? errno : EIO
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if number == EAGAIN, patience == nil {
                try Self.awaitRoom(at: descriptor)
            } else if number != EINTR {
                throw WriteFailure(number: number)
            }
        }
    }

    /// Whether something can be written within so many milliseconds, or fails.
    private static func hasRoom(at descriptor: CInt, within patience: CInt) -> Bool {
        var output = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        return unsafe poll(&output, 1, patience) == 1
    }

    /// Waits until something can be written, or what keeps it from that. Another program that has the same terminal may
    /// have made it one that doesn't wait by itself.
    private static func awaitRoom(at descriptor: CInt) throws(WriteFailure) {
        var output = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        // After a signal, too, the next write tells how it stands.
        guard unsafe poll(&output, 1, -1) < 0, errno != EINTR else { return }
        throw WriteFailure(number: errno)
    }
}

/// The operating system's own words.
enum SystemText {
    /// What an `errno` means.
    static func reason(_ number: CInt) -> String {
        guard let text = unsafe strerror(number) else { return "error \(number)" }
        return unsafe String(cString: text)
    }
}

/// Text from elsewhere made fit for a terminal, which obeys what it is shown.
package enum PlainText {
    /// `text` in one line: control, format and line-breaking characters as `\u{…}`.
    package static func line(_ text: String) -> String {
        var shown = ""
        for scalar in text.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator:
                shown += "\\u{\(String(scalar.value, radix: 16))}"
            default: shown.unicodeScalars.append(scalar)
            }
        }
        return shown
    }
}
