import HTTPWire
import NIOCore
import Testing

/// A parser scans each byte once, however small the pieces are.
///
/// The tests need no clock. They overwrite scanned bytes in the buffer before the next piece arrives. A parser that
/// scanned those bytes again would refuse them.
@Suite struct ScanningCostTests {
    /// Feeds `message` byte by byte to `next`.
    ///
    /// From byte `start` on, all earlier bytes are overwritten except the last two, which the parser needs to find the
    /// end of a line. Before the last byte is parsed, all bytes are restored.
    private func feed(_ message: [UInt8], from start: Int, _ next: (inout ByteBuffer) throws -> Bool) throws {
        var buffer = ByteBuffer()
        for (index, byte) in message.enumerated() {
            buffer.writeInteger(byte)
            if index == message.count - 1 {
                buffer.setBytes(message, at: 0)
            } else if index == start {
                buffer.setRepeatingByte(0x0A, count: index - 2, at: 0)
            } else if index > start {
                buffer.setInteger(0x0A as UInt8, at: index - 3)
            }
            let isWhole = try next(&buffer)
            try #require(isWhole == (index == message.count - 1), "at byte \(index)")
        }
    }

    @Test func `a request's bytes are scanned once`() throws {
        let target = "/" + String(repeating: "a", count: 8191)
        let message = head(
            ["GET \(target) HTTP/1.1", "Host: a"] + (0..<60).map { "X-\($0): " + String(repeating: "y", count: 390) }
        )
        #expect(message.count > 31 << 10)
        var parser = RequestHeadParser()
        try self.feed(message, from: target.utf8.count + 20) { try parser.next(&$0) != nil }
    }

    @Test func `a request line is scanned again only when it is complete`() throws {
        let message = head(["GET /abc HTTP/1.1", "Host: a"])
        var parser = RequestHeadParser()
        try self.feed(message, from: 19) { try parser.next(&$0) != nil }
    }

    @Test func `a response's bytes are scanned once`() throws {
        let message = head(["HTTP/1.1 200 OK"] + (0..<60).map { "X-\($0): " + String(repeating: "y", count: 1000) })
        var parser = ResponseHeadParser()
        try self.feed(message, from: 20) { try parser.next(&$0, answering: .get) != nil }
    }

    @Test func `trailers are scanned once`() throws {
        let message = head((0..<30).map { "X-\($0): " + String(repeating: "y", count: 500) })
        var decoder = BodyDecoder(.chunked)
        var size = ByteBuffer(string: "0\r\n")
        _ = try decoder.next(&size)
        try self.feed(message, from: 2) { buffer in
            if case .end = try decoder.next(&buffer) { true } else { false }
        }
    }
}
