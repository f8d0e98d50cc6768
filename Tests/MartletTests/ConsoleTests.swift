internal import Foundation
internal import Glibc
internal import Testing
internal import martlet

@Suite struct ConsoleTests {
    /// Much more than a pipe holds.
    private static let text = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0) }

    /// A pipe whose writer is told when there is no room, instead of waiting.
    private static func impatientPipe() throws -> (reader: CInt, writer: CInt) {
        var ends: [CInt] = [0, 0]
        try #require(unsafe pipe(&ends) == 0)
        let flags = fcntl(ends[1], F_GETFL)
        try #require(fcntl(ends[1], F_SETFL, flags | O_NONBLOCK) == 0)
        return (ends[0], ends[1])
    }

    @Test func `an output that has no room just now is waited for, and gets all`() throws {
        // Given an output that doesn't wait by itself
        let (reader, writer) = try Self.impatientPipe()

        // When more is written than it holds, while somebody reads
        Thread.detachNewThread {
            // What fails is missing at the other end.
            _ = try? Console.write(Self.text, to: writer)
            close(writer)
        }
        let read = try FileHandle(fileDescriptor: reader, closeOnDealloc: true).readToEnd()

        // Then nothing is lost
        #expect(read.map { Array($0) == Self.text } == true)
    }

    @Test func `an output that is none is a failure, and not waited for`() throws {
        // Given the end of a pipe that is read from
        let (reader, writer) = try Self.impatientPipe()

        // When something is written there
        let error = #expect(throws: Console.WriteFailure.self) { try Console.write(Self.text, to: reader) }

        // Then that is lost at once
        #expect(error?.number == EBADF)
        close(reader)
        close(writer)
    }
}
