import HTTPWire
import NIOCore
import Testing

@Suite struct RequestHeadParserTests {
    @Test(arguments: RefusedRequest.all)
    func `hostile input is refused, however it arrives`(_ request: RefusedRequest) throws {
        for pieces in arrivals(of: request.bytes) {
            let reading = readRequest(pieces)
            try #require(
                reading == .refused(request.code),
                "in \(pieces.count) pieces, the first of \(pieces[0].count)"
            )
        }
    }

    @Test(arguments: AcceptedRequest.all)
    func `a valid request is read, however it arrives`(_ request: AcceptedRequest) throws {
        let whole = try #require(readRequest([request.bytes[...]]).summary)
        #expect(whole.method == request.method)
        #expect(whole.path == request.path)
        #expect(whole.query == request.query)
        #expect(whole.host == request.host)
        #expect(whole.hostName == request.hostName)
        #expect(whole.body == request.body)
        #expect(whole.minorVersion == request.minorVersion)
        #expect(whole.keepsAlive == request.keepsAlive)
        #expect(whole.expectsContinue == request.expectsContinue)
        #expect(
            whole.passing.filter { $0 != "Content-Length: \(request.body)" } == request.passing,
            "all: \(whole.fields)"
        )
        #expect(whole.rest == "")

        for pieces in arrivals(of: request.bytes) {
            try #require(readRequest(pieces) == .whole(whole), "in \(pieces.count) pieces")
        }
    }

    @Test(arguments: AcceptedRequest.all)
    func `llhttp reads the same from a valid request`(_ request: AcceptedRequest) throws {
        let parsed = try parseRequest([request.bytes[...]])
        try expectSameReading(of: #require(parsed).0)
    }

    @Test(arguments: AcceptedRequest.all)
    func `the parser waits for the rest of an incomplete head`(_ request: AcceptedRequest) {
        for end in request.bytes.indices {
            #expect(readRequest([request.bytes[..<end]]) == .unfinished)
        }
    }

    @Test func `pipelined requests come out one by one, each with its own values`() throws {
        let requests: [(lines: [String], path: String, minorVersion: UInt8)] = [
            (["GET /1 HTTP/1.1", "Host: a"], "/1", 1),
            (["OPTIONS /a/longer/one HTTP/1.1", "Host: b.example", "X: y"], "/a/longer/one", 1),
            (["PUT / HTTP/1.0"], "/", 0),
        ]
        for size in [1, 3, 1000] {
            let wire = requests.flatMap { head($0.lines) }
            var buffer = ByteBuffer()
            var parser = RequestHeadParser()
            var summaries: [RequestSummary] = []
            for start in stride(from: 0, to: wire.count, by: size) {
                buffer.writeBytes(wire[start..<min(start + size, wire.count)])
                while let request = try parser.next(&buffer) {
                    summaries.append(RequestSummary(request, rest: ByteBuffer()))
                    #expect(!parser.hasBegun)
                }
            }
            #expect(summaries.map(\.path) == requests.map(\.path))
            #expect(summaries.map(\.methodName) == ["GET", "OPTIONS", "PUT"])
            #expect(summaries.map(\.minorVersion) == requests.map(\.minorVersion))
            #expect(summaries.map(\.host) == ["a", "b.example", ""])
            #expect(buffer.readableBytes == 0)
        }
    }

    @Test func `one empty line before each request is ignored`() throws {
        let request = bytes("\r\n") + head(["GET / HTTP/1.1", "Host: a"])
        for pieces in arrivals(of: request) {
            #expect(readRequest(pieces).summary?.path == "/")
        }

        var buffer = ByteBuffer(bytes: request + request)
        var parser = RequestHeadParser()
        let first = try parser.next(&buffer)
        let second = try parser.next(&buffer)
        #expect(first != nil && second != nil)
    }

    @Test func `an empty line on an idle connection does not begin a request`() throws {
        var parser = RequestHeadParser()
        var buffer = ByteBuffer()
        for (piece, begun) in [("", false), ("\r", false), ("\n", false), ("G", true), ("E", true)] {
            buffer.writeString(piece)
            let head = try parser.next(&buffer)
            #expect(head == nil)
            #expect(parser.hasBegun == begun, "after \(piece.debugDescription)")
        }
    }

    @Test(
        arguments: [
            ("TRACE / HTTP/1.1\r\n", Refusal.methodNotAllowed), ("GET / HTTP/2.0\r\n", .versionUnsupported),
            ("GET  /\r\n", .badRequest),
            ("PRI * HTTP/2.0\r\n", .badRequest), ("GET / HTTP/1.1\n", .badRequest),
            ("GET / HTTP/1.1\r\nHost: a\n", .badRequest),
            ("\u{16}\u{03}\u{01}\r\n", .badRequest),
        ]
    )
    func `a fault that no further byte can repair is reported at once`(start: String, code: Refusal) {
        #expect(readRequest([bytes(start)[...]]) == .refused(code))
    }

    @Test(arguments: [
        ("\u{16}\u{03}\u{01}\u{02}\n", true), ("\u{16}\u{03}\u{03}\r\n", true), ("\u{16}\r\n", false),
        ("GET /\u{16}\u{03} HTTP/1.1\r\n", false), ("GET / HTTP/1.1\n", false),
    ])
    func `an unexpected TLS handshake is reported as one, whatever rule it breaks`(start: String, isTLS: Bool) {
        let error = #expect(throws: WireError.self) { try parseRequest([bytes(start)[...]]) }
        #expect(error?.code == .badRequest)
        #expect(error.map { "\($0.reason)".hasPrefix("TLS on a listener without tls") } == isTLS)
    }

    @Test func `bytes after the head stay in the buffer`() throws {
        let request = head(["POST / HTTP/1.1", "Host: a", "Content-Length: 3"])
        let summary = try #require(readRequest([(request + bytes("abc\r\n\r\nGET"))[...]]).summary)
        #expect(summary.rest == "abc\r\n\r\nGET")
    }

    @Test func `the ranges are right when earlier bytes of the buffer were already read`() throws {
        var buffer = ByteBuffer(string: "xxxxxxx")
        buffer.moveReaderIndex(forwardBy: 7)
        buffer.writeBytes(head(["GET /a?b HTTP/1.1", "Host: c"]))
        var parser = RequestHeadParser()
        let request = try parser.next(&buffer)
        let summary = try RequestSummary(#require(request), rest: buffer)
        #expect(summary.path == "/a")
        #expect(summary.query == "?b")
        #expect(summary.host == "c")
    }
}
