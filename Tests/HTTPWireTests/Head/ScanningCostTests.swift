import HTTPWire
import NIOCore
import Testing

/// No byte is looked at again, however small the pieces.
///
/// Shown without a clock: bytes that were scanned are spoiled behind the parser's back before the next piece comes. A parser
/// that looked at them again would refuse.
@Suite struct ScanningCostTests {
    /// Feeds `message` byte by byte to `next`. From byte `start` on, all bytes before it but the last two, which tell a line's
    /// end, are spoiled meanwhile; before the last byte comes they are mended.
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

    @Test func `a request's bytes are looked at once`() throws {
        let target = "/" + String(repeating: "a", count: 8191)
        let message = head(
            ["GET \(target) HTTP/1.1", "Host: a"] + (0..<60).map { "X-\($0): " + String(repeating: "y", count: 390) }
        )
        #expect(message.count > 31 << 10)
        var parser = RequestHeadParser()
        try self.feed(message, from: target.utf8.count + 20) { try parser.next(&$0) != nil }
    }

    @Test func `a request line is looked at once more, when it is there`() throws {
        let message = head(["GET /abc HTTP/1.1", "Host: a"])
        var parser = RequestHeadParser()
        try self.feed(message, from: 19) { try parser.next(&$0) != nil }
    }

    @Test func `an answer's bytes are looked at once`() throws {
        let message = head(["HTTP/1.1 200 OK"] + (0..<60).map { "X-\($0): " + String(repeating: "y", count: 1000) })
        var parser = ResponseHeadParser()
        try self.feed(message, from: 20) { try parser.next(&$0, answering: .get) != nil }
    }

    @Test func `trailers are looked at once`() throws {
        let message = head((0..<30).map { "X-\($0): " + String(repeating: "y", count: 500) })
        var decoder = BodyDecoder(.chunked)
        var size = ByteBuffer(string: "0\r\n")
        _ = try decoder.next(&size)
        try self.feed(message, from: 2) { buffer in
            if case .end = try decoder.next(&buffer) { true } else { false }
        }
    }
}
