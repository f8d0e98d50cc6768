internal import AdminCLI
internal import Foundation
internal import Glibc
internal import TestKit
internal import Testing

@Suite struct ConsoleTests {
    /// A text much longer than the buffer of a pipe.
    private static let text = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0) }

    private let directory: TemporaryDirectory

    init() throws { self.directory = try TemporaryDirectory() }

    /// Opens both ends of a pipe in non-blocking mode, and makes the reader blocking. The pipe has a name because
    /// Glibc's module has no `pipe2`. With `O_CLOEXEC`, no child process of another test keeps an end open.
    private func impatientPipe() throws -> (reader: CInt, writer: CInt) {
        try self.directory.makePipe("pipe")
        let path = self.directory.path(of: "pipe")
        // Without O_NONBLOCK, the open would block until there is a writer.
        let reader = unsafe open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        try #require(reader >= 0)
        let writer = unsafe open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
        try #require(writer >= 0)
        let flags = fcntl(reader, F_GETFL)
        try #require(fcntl(reader, F_SETFL, flags & ~O_NONBLOCK) == 0)
        return (reader, writer)
    }

    /// Reads `count` bytes, or fewer if the pipe ends. It blocks, so it needs its own thread.
    private static func take(_ count: Int, from descriptor: CInt) -> [UInt8] {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 64 << 10)
        while bytes.count < count {
            let size = min(piece.count, count - bytes.count)
            let taken = unsafe piece.withUnsafeMutableBytes { unsafe Glibc.read(descriptor, $0.baseAddress, size) }
            if taken < 0, errno == EINTR { continue }
            guard taken > 0 else { break }
            bytes += piece[..<taken]
        }
        return bytes
    }

    @Test func `a write waits for a non-blocking output that is full, and loses nothing`() async throws {
        // Given a non-blocking output
        let (reader, writer) = try self.impatientPipe()

        // When more is written than it holds, while another thread reads
        let read: [UInt8] = await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                // Bytes of a failed write are missing at the reader.
                _ = try? Console.write(Self.text, to: writer)
                close(writer)
            }
            Thread.detachNewThread { continuation.resume(returning: Self.take(Self.text.count, from: reader)) }
        }

        // Then nothing is lost
        let isWhole = read == Self.text
        // If bytes are missing, the reader stays open, because a writer that continues would end the process (SIGPIPE).
        try #require(isWhole)
        close(reader)
    }

    @Test(arguments: [true, false])
    func `messages never wait, so that a stuck reader blocks no command`(
        waitsByItself: Bool
    ) async throws {
        // Given a full output
        let pipe = try StuckPipe("errors", in: self.directory)
        let output = try pipe.openForWriting()
        let flags = fcntl(output, F_GETFL) & ~O_NONBLOCK
        try #require(fcntl(output, F_SETFL, waitsByItself ? flags : flags | O_NONBLOCK) == 0)

        // When a message is written to it, then the call returns
        let returns = Tally()
        Thread.detachNewThread {
            Console.tell("left out\n", on: output)
            returns.add()
        }
        try await eventually("what is said to return") { returns.count == 1 }

        // And the message is dropped, but the next one is written when there is space
        #expect(!pipe.read().contains("left out"))
        Console.tell("there is room\n", on: output)
        #expect(pipe.read() == "there is room\n")
        close(output)
    }

    @Test func `a write to an invalid output fails at once`() throws {
        // Given the read end of a pipe
        let (reader, writer) = try self.impatientPipe()

        // When something is written to it
        let error = #expect(throws: Console.WriteFailure.self) { try Console.write(Self.text, to: reader) }

        // Then the write fails at once
        #expect(error?.number == EBADF)
        close(reader)
        close(writer)
    }
}
