internal import Glibc
internal import Synchronization
internal import TextCoding

/// The program's output.
package enum Console {
    /// Why a result could not be written: the first such failure.
    private static let loss = Mutex<WriteFailure?>(nil)

    /// Opens the descriptors 0 to 2 if the program was started without them. Otherwise a file opened later would get
    /// one of these numbers, and results or messages would be written into it. Call it before anything is opened.
    package static func holdDescriptors() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            // `open` returns the lowest free number. Writes to it fail, as they would on a closed descriptor.
            _ = unsafe open("/dev/null", O_RDONLY)
        }
    }

    /// Writes a result to standard output.
    package static func say(_ text: String) {
        self.loss.withLock { loss in
            // After a failure nothing more is written: a gap in the middle of the output would go unnoticed.
            guard loss == nil else { return }
            do throws(WriteFailure) {
                try self.write(Array("\(text)\n".utf8), to: STDOUT_FILENO)
            } catch {
                loss = error
            }
        }
    }

    /// Checks that all results were written. A reader that closed the pipe, such as `head`, wanted no more of them.
    ///
    /// - Throws: if results were lost. Without this error, a key that is shown only once could be lost silently.
    package static func finish() throws(CommandFailure) {
        guard let loss = self.loss.withLock({ $0 }), !loss.isForWantOfReader else { return }
        throw loss.failure
    }

    /// Writes a result that another process may be waiting for at the other end of a pipe: to standard output,
    /// unbuffered.
    package static func announce(_ line: String) {
        // The gateway serves even if standard output is closed.
        _ = try? Self.write(Array("\(PlainText.line(line))\n".utf8), to: STDOUT_FILENO)
    }

    /// Writes a line to standard output if the reader takes it at once; otherwise drops it.
    package static func offer(_ line: String) {
        var output = pollfd(fd: STDOUT_FILENO, events: Int16(POLLOUT), revents: 0)
        guard unsafe poll(&output, 1, 0) == 1, output.revents == Int16(POLLOUT) else { return }
        _ = try? Self.write(Array("\(PlainText.line(line))\n".utf8), to: STDOUT_FILENO, patience: 0)
    }

    /// Writes a failure or a warning: one line to standard error.
    package static func complain(_ message: String) {
        Self.tell("martlet: \(PlainText.line(message))\n", on: STDERR_FILENO, patience: Self.patience)
    }

    /// Writes a fault of a file whose message names the file: one line to standard error.
    package static func report(_ fault: String) {
        Self.tell("\(PlainText.line(fault))\n", on: STDERR_FILENO, patience: Self.patience)
    }

    /// Writes a progress message: one line to standard error, dropped if the reader doesn't take it at once.
    static func mention(_ progress: String) {
        Self.tell("\(PlainText.line(progress))\n", on: STDERR_FILENO)
    }

    /// Writes lines that tell what failed to standard error, unchanged.
    static func note(_ lines: String) {
        Self.tell(lines, on: STDERR_FILENO, patience: Self.patience)
    }

    /// Writes a question to standard error, without a newline.
    static func ask(_ question: String) {
        Self.tell(question, on: STDERR_FILENO)
    }

    /// How long a message waits for space in a full pipe or terminal, for example behind a pager, in milliseconds.
    private static let patience: CInt = 2_000

    /// Writes additional text to standard error. Text that finds no room in time is dropped: a command must not hang
    /// because nobody reads its progress.
    ///
    /// - Parameter patience: how long to wait for room, in milliseconds.
    package static func tell(_ text: String, on output: CInt, patience: CInt = 0) {
        // There is no way left to report a failure here.
        _ = try? Self.write(Array(text.utf8), to: output, patience: patience)
    }

    /// Writes text unchanged to standard output, unbuffered.
    ///
    /// - Returns: `false` if the reader has closed the pipe.
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
        /// The system's error number.
        package let number: CInt

        var isForWantOfReader: Bool { self.number == EPIPE }

        var failure: CommandFailure {
            let reason = SystemText.reason(self.number)
            return CommandFailure(.no, "the output can't be written: \(reason); what it was to do is done")
        }
    }

    /// Writes all of `bytes`, and waits for the reader as long as necessary.
    ///
    /// - Parameter patience: how long to wait for room at each write, in milliseconds; bytes that find no room in that
    ///   time are lost. This also holds for a descriptor in blocking mode. `nil` waits forever.
    /// - Throws: if the bytes can't be written.
    package static func write(_ bytes: [UInt8], to descriptor: CInt, patience: CInt? = nil) throws(WriteFailure) {
        var rest = bytes[...]
        while !rest.isEmpty {
            if let patience, !Self.hasRoom(at: descriptor, within: patience) { throw WriteFailure(number: EAGAIN) }
            // If a pipe has room and no other writer, a write of this size doesn't block. A terminal may still block.
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

    /// Waits up to `patience` milliseconds until the descriptor is writable or has failed.
    private static func hasRoom(at descriptor: CInt, within patience: CInt) -> Bool {
        var output = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        return unsafe poll(&output, 1, patience) == 1
    }

    /// Waits until the descriptor is writable or has failed. Another program on the same terminal may have put it into
    /// nonblocking mode.
    private static func awaitRoom(at descriptor: CInt) throws(WriteFailure) {
        var output = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        // After a signal the next write finds out whether there is room.
        guard unsafe poll(&output, 1, -1) < 0, errno != EINTR else { return }
        throw WriteFailure(number: errno)
    }
}

/// The operating system's error texts.
enum SystemText {
    /// The text for an `errno` value.
    static func reason(_ number: CInt) -> String {
        guard let text = unsafe strerror(number) else { return "error \(number)" }
        return unsafe String(cString: text)
    }
}
