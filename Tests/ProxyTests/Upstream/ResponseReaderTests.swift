import HTTPWire
import NIOCore
import Proxy
import Testing

@Suite struct ResponseReaderTests {
    /// A reader that has received `text`, and the steps that it has reported.
    private func reader(_ text: String, answering method: HTTPMethod = .get) throws -> (ResponseReader, [String]) {
        var reader = ResponseReader()
        var steps: [String] = []
        reader.begin(method)
        reader.receive(ByteBuffer(string: text))
        while true {
            switch try reader.next() {
            case .head(let head): steps.append("head \(head.status)")
            case .bytes(let bytes): steps.append("body \(String(buffer: bytes))")
            case .end:
                steps.append("end")
                return (reader, steps)
            case .needsMore: return (reader, steps)
            }
        }
    }

    @Test(arguments: [
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", ["head 200", "body ab", "end"], true),
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabc", ["head 200", "body ab", "end"], false),
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na", ["head 200", "body a"], false),
        ("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nab", ["head 200", "body ab", "end"], false),
        ("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nab", ["head 200", "body ab", "end"], false),
        ("HTTP/1.1 200 OK\r\n\r\nab", ["head 200", "body ab"], false),
        ("HTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 204 No\r\n\r\n", ["head 103", "head 204", "end"], true),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", ["head 200", "body a", "end"],
            true
        ),
    ])
    func `a connection is clean after a complete response with nothing behind it`(
        text: String,
        steps: [String],
        isClean: Bool
    ) throws {
        let (reader, found) = try self.reader(text)
        #expect(found == steps)
        #expect(reader.isClean == isClean)
    }

    @Test(
        arguments: [
            ("", 50), ("Keep-Alive: timeout=5\r\n", 4), ("Keep-Alive: timeout=2\r\n", 1),
            ("Keep-Alive: timeout=51\r\n", 50),
            ("Keep-Alive: timeout=60\r\n", 50), ("Keep-Alive: timeout=3600\r\n", 50), ("Keep-Alive: max=5\r\n", 50),
        ]
    )
    func `an idle connection is closed a second before the upstream's timeout, and after 50 s at the latest`(
        field: String,
        seconds: Int
    ) throws {
        let (reader, _) = try self.reader("HTTP/1.1 200 OK\r\n\(field)Content-Length: 0\r\n\r\n")
        #expect(reader.idleTime == .seconds(seconds))
        #expect(reader.isClean)
    }

    @Test(arguments: [
        ("HTTP/1.1 401 No\r\nContent-Length: 2\r\n\r\nab", true, true),
        ("HTTP/1.1 401 No\r\nContent-Length: 2\r\n\r\na", false, false),
        ("HTTP/1.1 401 No\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", true, true),
        ("HTTP/1.1 401 No\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n", false, false),
        ("HTTP/1.1 401 No\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", false, false),
        ("HTTP/1.1 401 No\r\n\r\nab", false, true),
        ("HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n", true, true),
    ])
    func `the reader tells whether the received response is complete, and consumes nothing`(
        text: String,
        isWhole: Bool,
        isWholeAtEnd: Bool
    ) throws {
        var reader = ResponseReader()
        reader.begin(.get)
        reader.receive(ByteBuffer(string: text))
        guard case .head = try reader.next() else {
            Issue.record("no head")
            return
        }
        #expect(reader.isWhole(isEnded: false) == isWhole)
        #expect(reader.isWhole(isEnded: true) == isWholeAtEnd)
        #expect(reader.skipRest() == isWhole)
    }

    @Test func `a response has begun once its first byte is received`() {
        var reader = ResponseReader()
        reader.begin(.get)
        #expect(!reader.hasBegun)
        reader.receive(ByteBuffer(string: "H"))
        #expect(reader.hasBegun)
        reader.begin(.get)
        #expect(!reader.hasBegun)
    }
}
