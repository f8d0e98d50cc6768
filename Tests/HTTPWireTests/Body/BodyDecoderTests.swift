import HTTPWire
import NIOCore
import Testing

@Suite struct BodyDecoderTests {
    /// Long bodies arrive in fewer ways, so that the table stays fast.
    private static func arrivals(of bytes: [UInt8]) -> [[ArraySlice<UInt8>]] {
        guard bytes.count > 300 else { return HTTPWireTests.arrivals(of: bytes) }
        return [1, 7, 100, bytes.count].map { size in
            stride(from: 0, to: bytes.count, by: size).map { bytes[$0..<min($0 + size, bytes.count)] }
        }
    }

    @Test(arguments: ChunkedBody.accepted + ChunkedBody.acceptedOnlyHere)
    func `chunks are decoded to content, however they arrive`(_ body: ChunkedBody) throws {
        for pieces in Self.arrivals(of: body.bytes) {
            try #require(readBody(pieces, framed: .chunked) == body.summary, "in \(pieces.count) pieces")
        }
    }

    @Test(arguments: ChunkedBody.refused + ChunkedBody.refusedExtensions)
    func `hostile chunks are refused, however they arrive`(_ body: ChunkedBody) throws {
        for pieces in Self.arrivals(of: body.bytes) {
            try #require(readBody(pieces, framed: .chunked) == body.summary, "in \(pieces.count) pieces")
        }
    }

    @Test(arguments: ChunkedBody.accepted)
    func `llhttp reads the same content and trailers`(_ body: ChunkedBody) throws {
        let wire =
            head(["POST / HTTP/1.1", "Transfer-Encoding: chunked"])
            + body.bytes.dropLast(body.summary.rest.unicodeScalars.count)
        let read = try RequestOracle.read(wire)
        #expect(read.count == 1)
        #expect(read.first?.isWhole == true)
        #expect(read.first.map { text($0.body) } == body.summary.content)
        #expect(read.first?.trailers.map(trimmed) == body.summary.trailers.map { trimmed(asRead($0)) })
    }

    @Test(arguments: ChunkedBody.accepted)
    func `a chunked body that is cut short does not end`(_ body: ChunkedBody) {
        for end in 0..<(body.bytes.count - body.summary.rest.unicodeScalars.count) {
            #expect(readBody([body.bytes[..<end]], framed: .chunked).end == .unfinished)
        }
    }

    @Test func `a refused chunk stays refused`() throws {
        var decoder = BodyDecoder(.chunked)
        var buffer = ByteBuffer(string: "1\r\na\nb")
        let first = try decoder.next(&buffer)
        #expect(first == .bytes(ByteBuffer(string: "a")))
        for _ in 0..<3 {
            #expect(throws: WireError.bad) { try decoder.next(&buffer) }
        }
    }

    @Test(arguments: [0, 1, 5, 200])
    func `a body with a length takes exactly that many bytes, however they arrive`(length: Int) throws {
        let content = String(repeating: "x", count: length)
        let expected = BodySummary(content: content, end: .clean, rest: "GET ")
        for pieces in HTTPWireTests.arrivals(of: bytes(content + "GET ")) {
            try #require(readBody(pieces, framed: .length(length)) == expected, "in \(pieces.count) pieces")
        }
    }

    @Test func `a body shorter than its length does not end`() {
        #expect(readBody([bytes("ab")[...]], framed: .length(3)) == BodySummary(content: "ab", end: .unfinished))
        #expect(!BodyDecoder(.length(3)).endsWithClose)
        #expect(!BodyDecoder(.chunked).endsWithClose)
    }

    @Test func `without a body, no byte is taken`() {
        #expect(readBody([bytes("GET ")[...]], framed: .none) == BodySummary(end: .clean, rest: "GET "))
    }

    @Test func `a body that ends at close takes all bytes, and only the close ends it`() throws {
        for pieces in HTTPWireTests.arrivals(of: bytes("0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n")) {
            let summary = readBody(pieces, framed: .untilClose)
            try #require(summary == BodySummary(content: "0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", end: .unfinished))
        }
        #expect(BodyDecoder(.untilClose).endsWithClose)
    }

    @Test(arguments: [(BodyFraming.none, ""), (.length(0), ""), (.length(2), "ab"), (.chunked, "1\r\na\r\n0\r\n\r\n")])
    func `the end comes once, and no byte after it is taken`(framing: BodyFraming, body: String) throws {
        var decoder = BodyDecoder(framing)
        var buffer = ByteBuffer(string: body + "rest")
        var ends = 0
        for _ in 0..<6 {
            #expect(decoder.isEnded == (ends > 0))
            if case .end = try decoder.next(&buffer) { ends += 1 }
        }
        #expect(ends == 1)
        #expect(decoder.isEnded)
        #expect(text(buffer) == "rest")
    }

    @Test func `content consists of slices of the input, not copies`() throws {
        var decoder = BodyDecoder(.length(4))
        var buffer = ByteBufferAllocator().buffer(capacity: 1 << 16)
        buffer.writeString("abcd")
        guard case .bytes(let slice) = try decoder.next(&buffer) else {
            Issue.record("no content")
            return
        }
        // A copy would have capacity for its own bytes only.
        #expect(slice.storageCapacity == buffer.storageCapacity)
    }
}

extension WireError {
    /// Any refusal of bytes that are not HTTP.
    static var bad: WireError { WireError(.badRequest, "") }
}
