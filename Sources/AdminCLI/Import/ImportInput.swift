internal import Glibc
package import NIOCore
internal import NIOPosix
internal import Synchronization
package import TokenModel

/// A file, or standard input, as the body of a request: its bytes as they come. It is read once, in any amount of memory.
package final class ImportInput: AsyncSequence, Sendable {
    package typealias Element = ByteBuffer

    /// Whose turn it is, the input's or the gateway's.
    private enum Turn {
        /// The gateway takes what it was given, or responds.
        case gateway(since: BootInstant)
        case input
        /// Nobody wants more of the input.
        case ended
    }

    private let descriptor: CInt
    private let isOwned: Bool
    /// The name for messages.
    private let name: String
    /// How long a gateway hears nothing while the input has nothing.
    private let pause: Duration
    private let clock: Timepiece
    private let turn = Mutex<Turn?>(nil)

    private static let size = 64 << 10

    /// - Parameters:
    ///   - isOwned: whether the descriptor is closed with this object.
    ///   - pause: shorter than a gateway waits for the next byte of a request.
    package init(
        _ descriptor: CInt,
        isOwned: Bool,
        name: String,
        pause: Duration = .seconds(3),
        clock: Timepiece = .system
    ) {
        (self.descriptor, self.isOwned, self.name, self.pause) = (descriptor, isOwned, name, pause)
        self.clock = clock
    }

    /// Opens a file; `nil` stands for standard input.
    ///
    /// - Throws: ``ProgramExit/usage`` if the file can't be opened.
    static func opening(_ path: String?) throws(CommandFailure) -> ImportInput {
        guard let path else { return ImportInput(STDIN_FILENO, isOwned: false, name: "standard input") }
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw CommandFailure(
                .usage,
                "can't read \(path): \(SystemText.reason(errno)); --all takes a file whose lines name their accounts, such as: "
                    + BulkImport.example
            )
        }
        return ImportInput(descriptor, isOwned: true, name: path)
    }

    deinit { if self.isOwned { close(self.descriptor) } }

    package func makeAsyncIterator() -> Iterator { Iterator(input: self) }

    package struct Iterator: AsyncIteratorProtocol {
        fileprivate let input: ImportInput
        private var padding = InputPadding()

        fileprivate init(input: ImportInput) { self.input = input }

        /// The next bytes, or a blank of ``InputPadding``.
        package mutating func next() async throws -> ByteBuffer? {
            self.input.pass(.input)
            defer { self.input.pass(.gateway(since: self.input.clock.now.boot)) }
            while !self.input.isEnded {
                let input = self.input
                let finding = try await NIOThreadPool.singleton.runIfActive { try input.read() }
                if finding == .end { return nil }
                if let part = self.padding.part(for: finding) { return part }
            }
            return nil
        }
    }

    /// Waits for bytes up to the pause. Blocks.
    private func read() throws(CommandFailure) -> InputFinding {
        var input = pollfd(fd: self.descriptor, events: Int16(POLLIN), revents: 0)
        let milliseconds = CInt(clamping: Int64(self.pause / .milliseconds(1)))
        guard unsafe poll(&input, 1, milliseconds) != 0 else { return .nothingYet }
        var bytes = [UInt8](repeating: 0, count: Self.size)
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe Glibc.read(self.descriptor, $0.baseAddress, $0.count) }
        if count < 0, errno == EINTR || errno == EAGAIN { return .nothingYet }
        guard count >= 0 else { throw CommandFailure(.usage, "can't read \(self.name): \(SystemText.reason(errno))") }
        return count == 0 ? .end : .bytes(ByteBuffer(bytes: bytes[..<count]))
    }

    private func pass(_ next: Turn) {
        self.turn.withLock { turn in if case .ended = turn {} else { turn = next } }
    }

    /// Notes that the gateway has given a sign of life.
    package func hear() {
        self.turn.withLock { turn in if case .gateway = turn { turn = .gateway(since: self.clock.now.boot) } }
    }

    /// Whether a gateway was there to ask for the input.
    package var hasBegun: Bool { self.turn.withLock { $0 != nil } }

    /// Notes that nobody reads the input any more.
    package func end() { self.turn.withLock { if $0 != nil { $0 = .ended } } }

    private var isEnded: Bool { self.turn.withLock { if case .ended = $0 { true } else { false } } }

    /// Returns when the gateway has had its turn for `patience` without a sign of life, or when the task is canceled.
    package func silence(of patience: Duration) async {
        while !Task.isCancelled {
            let now = self.clock.now.boot
            let end = self.turn.withLock { turn in
                if case .gateway(let since) = turn { since.advanced(by: patience) } else { now.advanced(by: patience) }
            }
            guard end > now else { return }
            await self.clock.rest(until: end)
        }
    }
}

/// What a read of an input found.
package enum InputFinding: Equatable, Sendable {
    case bytes(ByteBuffer)
    case nothingYet
    case end
}

/// Keeps a gateway from hanging up on a request whose input has nothing for a while: the body gets blanks, which mean nothing
/// at the start of a line of JSON.
package struct InputPadding: Sendable {
    private var isAtLineStart = true

    package init() {}

    /// The next part of the body; `nil` for none, as within a line, where a blank may be part of a token.
    package mutating func part(for finding: InputFinding) -> ByteBuffer? {
        switch finding {
        case .bytes(let bytes):
            self.isAtLineStart = bytes.readableBytesView.last == UInt8(ascii: "\n")
            return bytes
        case .nothingYet: return self.isAtLineStart ? ByteBuffer(string: " ") : nil
        case .end: return nil
        }
    }
}
