import HTTPWire
import NIOCore
import Proxy
import Testing

@Suite struct RequestReaderTests {
    /// The steps that the reader reports for `text`, received in pieces of `size` bytes.
    private func read(_ text: String, piece size: Int) throws -> [String] {
        var reader = RequestReader(limits: .request)
        var steps: [String] = []
        var rest = ByteBuffer(string: text)
        while let piece = rest.readSlice(length: min(size, rest.readableBytes)), piece.readableBytes > 0 {
            reader.receive(piece)
            reading: while true {
                switch try reader.next() {
                case .head(let head): steps.append("head \(head.method)")
                case .bytes(let bytes) where steps.last?.hasPrefix("body ") == true:
                    steps[steps.count - 1] += String(buffer: bytes)
                case .bytes(let bytes): steps.append("body \(String(buffer: bytes))")
                case .end: steps.append("end")
                case .needsMore: break reading
                }
            }
        }
        return steps
    }

    @Test(arguments: [1, 2, 7, 1_000])
    func `requests are read one by one, however the input is cut`(piece: Int) throws {
        let text =
            "GET / HTTP/1.1\r\nHost: a\r\n\r\n" + "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"
            + "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"
            + "PATCH / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nde\r\n1\r\nf\r\n0\r\n\r\n"
            + "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n"
        #expect(
            try self.read(text, piece: piece)
                == [
                    "head get", "head post", "body abc", "end", "head put", "head patch", "body def", "end",
                    "head head",
                ]
        )
    }

    @Test func `the reader tells whether a request has begun`() throws {
        var reader = RequestReader(limits: .request)
        #expect(!reader.hasBegun)
        reader.receive(ByteBuffer(string: "POST / HTTP/1.1\r\n"))
        #expect(reader.hasBegun)
        _ = try reader.next()
        #expect(reader.hasBegun)
        reader.receive(ByteBuffer(string: "Host: a\r\nContent-Length: 1\r\n\r\n"))
        _ = try reader.next()
        #expect(reader.isInBody)
        #expect(reader.hasBegun)
        reader.receive(ByteBuffer(string: "x"))
        _ = try reader.next()
        _ = try reader.next()
        #expect(!reader.isInBody)
        #expect(!reader.hasBegun)
    }

    @Test func `a cleared reader returns nothing`() throws {
        var reader = RequestReader(limits: .request)
        reader.receive(ByteBuffer(string: "GET / HTTP/1.1\r\nHost: a\r\n\r\n"))
        reader.clear()
        guard case .needsMore = try reader.next() else {
            Issue.record("something came out")
            return
        }
        #expect(reader.count == 0)
    }
}
