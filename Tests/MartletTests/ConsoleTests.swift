internal import Foundation
internal import Glibc
internal import TestKit
internal import Testing
internal import martlet

@Suite struct ConsoleTests {
    /// Much more than a pipe holds.
    private static let text = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0) }

    private let directory: TemporaryDirectory

    init() throws { self.directory = try TemporaryDirectory() }

    /// The ends of a pipe whose writer is told when there is no room, instead of waiting. It has a name, since Glibc's
    /// module has no `pipe2`: no child that another test starts may keep an end open.
    private func impatientPipe() throws -> (reader: CInt, writer: CInt) {
        try self.directory.makePipe("pipe")
        let path = self.directory.path(of: "pipe")
        // Without O_NONBLOCK it would wait here for a writer.
        let reader = unsafe open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        try #require(reader >= 0)
        let writer = unsafe open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
        try #require(writer >= 0)
        let flags = fcntl(reader, F_GETFL)
        try #require(fcntl(reader, F_SETFL, flags & ~O_NONBLOCK) == 0)
        return (reader, writer)
    }

    /// Reads so many bytes, or what comes until the end. It waits, and so wants a thread of its own.
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

    @Test func `an output that has no room just now is waited for, and gets all`() async throws {
        // Given an output that doesn't wait by itself
        let (reader, writer) = try self.impatientPipe()

        // When more is written than it holds, while somebody reads
        let read: [UInt8] = await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                // What fails is missing at the other end.
                _ = try? Console.write(Self.text, to: writer)
                close(writer)
            }
            Thread.detachNewThread { continuation.resume(returning: Self.take(Self.text.count, from: reader)) }
        }

        // Then nothing is lost
        let isWhole = read == Self.text
        // Where it isn't, the reader stays open: a writer that still goes on would end the process (SIGPIPE).
        try #require(isWhole)
        close(reader)
    }

    @Test(arguments: [true, false])
    func `what goes with the results is not waited for: a reader that doesn't read holds up no command`(
        waitsByItself: Bool
    ) async throws {
        // Given a full output
        let pipe = try StuckPipe("errors", in: self.directory)
        let output = try pipe.openForWriting()
        let flags = fcntl(output, F_GETFL) & ~O_NONBLOCK
        try #require(fcntl(output, F_SETFL, waitsByItself ? flags : flags | O_NONBLOCK) == 0)

        // When something is said there, then that returns
        let returns = Tally()
        Thread.detachNewThread {
            Console.tell("left out\n", on: output)
            returns.add()
        }
        try await eventually("what is said to return") { returns.count == 1 }

        // And it is left out, but not what comes when there is room
        #expect(!pipe.read().contains("left out"))
        Console.tell("there is room\n", on: output)
        #expect(pipe.read() == "there is room\n")
        close(output)
    }

    @Test func `an output that is none is a failure, and not waited for`() throws {
        // Given the end of a pipe that is read from
        let (reader, writer) = try self.impatientPipe()

        // When something is written there
        let error = #expect(throws: Console.WriteFailure.self) { try Console.write(Self.text, to: reader) }

        // Then that is lost at once
        #expect(error?.number == EBADF)
        close(reader)
        close(writer)
    }
}
