internal import CShims
internal import FoundationEssentials
internal import Glibc
internal import SystemSupport
package import TokenModel

/// A program that prints the key, such as a password manager's or a key management service's. It runs without a shell and
/// without input each time the keys are asked for.
package struct CommandKeyOrigin: SealingKeyOrigin {
    private let command: KeyCommand

    package let name: String
    package var need: KeyNeed { .nothing }

    /// - Parameters:
    ///   - words: the program and its arguments.
    ///   - environment: the program's variables.
    ///   - patience: how long it may run. Then it is killed, with what it has started.
    package init(
        _ words: [String],
        environment: [String: String] = ProcessInfo.processInfo.environment,
        patience: Duration = .seconds(30)
    ) {
        self.name = "the command \(words.first ?? "")"
        self.command = KeyCommand(name: self.name, words: words, environment: environment, patience: patience)
    }

    /// - Throws: ``KeyRingError/Code/refused`` with the exit code and the first line of standard error;
    ///   ``KeyRingError/Code/malformed`` unless it prints exactly one line with a key. The message repeats nothing of
    ///   what it printed to standard output.
    package func keys(passphrase: Secret?) async throws(KeyRingError) -> any KeyRingSource {
        HeldKeyRing(try await self.command.run(), name: self.name)
    }
}

/// Runs the program, once at a time and on a thread of its own, because it waits for the program.
private actor KeyCommand {
    private let executor = BlockingExecutor(label: "martlet.key-command")
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe self.executor.asUnownedSerialExecutor() }

    private let name: String
    private let words: [String]
    private let environment: [String: String]
    private let patience: Duration

    init(name: String, words: [String], environment: [String: String], patience: Duration) {
        self.name = name
        self.words = words
        self.environment = environment
        self.patience = patience
    }

    func run() throws(KeyRingError) -> KeyRing {
        let (output, errors): (BoundedPipe, BoundedPipe)
        let program: StartedProgram
        do throws(SystemCallError) {
            (output, errors) = (try BoundedPipe(), try BoundedPipe())
            program = try StartedProgram(
                self.words,
                environment: self.environment,
                output: output.writingEnd,
                errors: errors.writingEnd
            )
        } catch {
            throw self.refusal(error.message)
        }
        output.closeWritingEnd()
        errors.closeWritingEnd()
        let end = try self.wait(for: program, output, errors)
        guard end == .exited(code: 0) else {
            let how =
                switch end {
                case .exited(let code): "exit code \(code)"
                case .killed(let signal): "it was ended by signal \(signal)"
                }
            let complaint = errors.firstLine
            throw self.refusal(complaint.isEmpty ? how : "\(how): \(complaint)")
        }
        return try self.key(in: output)
    }

    private func wait(
        for program: StartedProgram,
        _ output: BoundedPipe,
        _ errors: BoundedPipe
    ) throws(KeyRingError) -> StartedProgram.End {
        let deadline = BootInstant.now.advanced(by: self.patience)
        while true {
            if let end = program.end() {
                // What it has started may hold the pipes open, so their ends are not waited for.
                output.drain()
                errors.drain()
                return end
            }
            output.drain()
            errors.drain()
            guard !output.isOverfull else {
                program.kill()
                throw self.tooMuch
            }
            guard BootInstant.now < deadline else {
                program.kill()
                throw self.refusal("it did not answer within \(self.patience.components.seconds) s")
            }
            guard !Task.isCancelled else {
                program.kill()
                throw self.refusal("it was not waited for, since this process stops")
            }
            BoundedPipe.wait(for: [output, errors], milliseconds: 20)
        }
    }

    private func key(in output: BoundedPipe) throws(KeyRingError) -> KeyRing {
        guard !output.isOverfull else { throw self.tooMuch }
        let line = output.withoutNewline
        guard !line.isEmpty else {
            throw KeyRingError(.malformed, "\(self.name) has printed nothing; \(Self.expected)")
        }
        guard !line.contains(UInt8(ascii: "\n")) else {
            throw KeyRingError(.malformed, "\(self.name) has printed more than one line; \(Self.expected)")
        }
        return try KeyRingText(Secret(line), name: "what \(self.name) has printed").parsed()
    }

    private var tooMuch: KeyRingError {
        KeyRingError(.malformed, "\(self.name) has printed more than \(BoundedPipe.limit >> 10)KiB; \(Self.expected)")
    }

    private static let expected = "expected one line with a key in base64"

    private func refusal(_ reason: String) -> KeyRingError { KeyRingError(.refused, "\(self.name): \(reason)") }
}

/// A pipe from a program, and the first bytes that have come through it, which are overwritten at the end.
private final class BoundedPipe {
    /// How many bytes are kept.
    static let limit = 4 << 10

    private let readingEnd: CInt
    private(set) var writingEnd: CInt
    /// One more than the limit, so that too many can be told. Never grows: that would leave a copy behind.
    private var buffer = [UInt8](repeating: 0, count: BoundedPipe.limit + 1)
    private var count = 0
    private var hasEnded = false

    init() throws(SystemCallError) {
        var ends: [CInt] = [-1, -1]
        guard unsafe martlet_pipe(&ends) == 0 else { throw SystemCallError(errno, "can't make a pipe") }
        (self.readingEnd, self.writingEnd) = (ends[0], ends[1])
        // The program has the other end, which blocks as it expects.
        _ = fcntl(self.readingEnd, F_SETFL, O_NONBLOCK)
    }

    deinit {
        self.buffer.wipe()
        self.closeWritingEnd()
        close(self.readingEnd)
    }

    /// Must be called once the program has its own.
    func closeWritingEnd() {
        guard self.writingEnd >= 0 else { return }
        close(self.writingEnd)
        self.writingEnd = -1
    }

    var isOverfull: Bool { self.count > Self.limit }

    /// Reads what is there, up to what a pipe holds: a program may write faster than this reads. What exceeds the limit
    /// is dropped.
    func drain() {
        for _ in 0..<(64 << 10) / Self.limit where !self.hasEnded {
            let read = self.isOverfull ? self.drop() : self.keep()
            guard read <= 0 else { continue }
            self.hasEnded = read == 0 || errno != EAGAIN && errno != EINTR
            return
        }
    }

    private func keep() -> Int {
        let start = self.count
        let read = unsafe self.buffer.withUnsafeMutableBytes { buffer in
            let free = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[start...])
            return unsafe Glibc.read(self.readingEnd, free.baseAddress, free.count)
        }
        self.count += max(read, 0)
        return read
    }

    private func drop() -> Int {
        var dropped = [UInt8](repeating: 0, count: Self.limit)
        defer { dropped.wipe() }
        return unsafe dropped.withUnsafeMutableBytes { unsafe Glibc.read(self.readingEnd, $0.baseAddress, $0.count) }
    }

    /// What was read, without a newline at its end.
    var withoutNewline: ArraySlice<UInt8> {
        let text = self.buffer[..<self.count]
        return text.last == UInt8(ascii: "\n") ? text.dropLast() : text
    }

    /// The first line, fit for a message: at most 200 characters, those that don't print replaced, and so is what may be
    /// a key.
    var firstLine: String {
        let line = self.buffer[..<self.count].prefix { $0 != UInt8(ascii: "\n") }
        let scalars = String(decoding: line, as: UTF8.self).unicodeScalars.map { Self.prints($0) ? $0 : "?" }
        // Hidden first: the beginning of a key would be too short to be told.
        return String(String.UnicodeScalarView(Self.hidingKeys(scalars).unicodeScalars.prefix(200)))
    }

    /// Hides words that are long enough for a key in base64, of either alphabet, or in hexadecimal.
    private static func hidingKeys(_ scalars: [Unicode.Scalar]) -> String {
        var (text, word) = ("", "")
        for scalar in scalars + ["\n"] {
            if Self.isBase64(scalar) {
                word.unicodeScalars.append(scalar)
            } else {
                text += word.count >= 40 ? "<redacted>" : word
                text.unicodeScalars.append(scalar)
                word = ""
            }
        }
        return String(text.dropLast())
    }

    private static func isBase64(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "A"..."Z", "a"..."z", "0"..."9", "+", "/", "=", "-", "_": true
        default: false
        }
    }

    private static func prints(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: false
        default: true
        }
    }

    /// Waits until one of the pipes has something to read, or has ended since.
    static func wait(for pipes: [BoundedPipe], milliseconds: CInt) {
        var watched = pipes.filter { !$0.hasEnded }.map { pollfd(fd: $0.readingEnd, events: Int16(POLLIN), revents: 0) }
        _ = unsafe poll(&watched, nfds_t(watched.count), milliseconds)
    }
}
