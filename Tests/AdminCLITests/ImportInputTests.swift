internal import AdminCLI
internal import Glibc
internal import NIOCore
internal import TestKit
internal import Testing
internal import TokenModel

@Suite struct ImportInputTests {
    private let directory: TemporaryDirectory

    init() throws { self.directory = try TemporaryDirectory() }

    /// An input from a pipe whose other end is `writer`.
    private func pipe(pause: Duration, _ clock: Timepiece = .system) throws -> (input: ImportInput, writer: CInt) {
        try self.directory.makePipe("pipe")
        let path = self.directory.path(of: "pipe")
        // Without O_NONBLOCK, the open would block until there is a writer.
        let reader = unsafe open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        try #require(reader >= 0)
        let writer = unsafe open(path, O_WRONLY | O_CLOEXEC)
        try #require(writer >= 0)
        return (ImportInput(reader, isOwned: true, name: "pipe", pause: pause, clock: clock), writer)
    }

    private static func write(_ text: String, to descriptor: CInt) throws {
        try Console.write(Array(text.utf8), to: descriptor)
    }

    @Test func `while there is no input, the body gets blanks between lines, and none within a line`() {
        var padding = InputPadding()
        let blank = ByteBuffer(string: " ")
        #expect(padding.part(for: .nothingYet) == blank)
        #expect(padding.part(for: .nothingYet) == blank)
        let (half, rest) = (ByteBuffer(string: "{}\n{\"acc"), ByteBuffer(string: "ount\"}\n"))
        #expect(padding.part(for: .bytes(half)) == half)
        #expect(padding.part(for: .nothingYet) == nil)
        #expect(padding.part(for: .bytes(rest)) == rest)
        #expect(padding.part(for: .nothingYet) == blank)
        #expect(padding.part(for: .end) == nil)
    }

    @Test func `input ends when it is at its end, or when nobody wants more of it`() async throws {
        let (input, writer) = try self.pipe(pause: .milliseconds(1))
        try Self.write("a\n", to: writer)
        close(writer)
        var parts = input.makeAsyncIterator()
        #expect(!input.hasBegun)
        #expect(try await parts.next() == ByteBuffer(string: "a\n"))
        #expect(input.hasBegun)
        #expect(try await parts.next() == nil)

        // Given an input that would give blanks without end
        let (other, stillOpen) = try ImportInputTests().pipe(pause: .milliseconds(1))
        var others = other.makeAsyncIterator()
        #expect(try await others.next() == ByteBuffer(string: " "))
        other.end()
        #expect(try await others.next() == nil)
        close(stillOpen)
    }

    @Test func `a gateway is silent when it has input and gives no sign of life for its patience`() async throws {
        let clock = ManualClock()
        let (input, writer) = try self.pipe(pause: .seconds(60), Timepiece(ages: clock) { clock.wall })
        var parts = input.makeAsyncIterator()
        let silence = Task {
            await input.silence(of: .seconds(10))
            return clock.now
        }
        // The patience counts from the last part of the input, or the last sign of life.
        try Self.write("a\n", to: writer)
        _ = try await parts.next()
        let began = clock.now
        try await eventually("the patience to count") { clock.nextWake(within: .seconds(10)) != nil }
        clock.advance(by: .seconds(9))
        input.hear()
        clock.advance(by: .seconds(1))
        try await eventually("the patience to count anew") { clock.nextWake(within: .seconds(9)) != nil }
        clock.advance(by: .seconds(9))
        #expect(
            try await within("the silence to be noticed") { await silence.value } == began.advanced(by: .seconds(19))
        )
        close(writer)
    }
}
