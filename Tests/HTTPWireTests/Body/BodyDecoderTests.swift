import HTTPWire
import NIOCore
import Testing

@Suite struct BodyDecoderTests {
    /// Long bodies in fewer pieces, so that the table stays quick.
    private static func arrivals(of bytes: [UInt8]) -> [[ArraySlice<UInt8>]] {
        guard bytes.count > 300 else { return HTTPWireTests.arrivals(of: bytes) }
        return [1, 7, 100, bytes.count].map { size in
            stride(from: 0, to: bytes.count, by: size).map { bytes[$0..<min($0 + size, bytes.count)] }
        }
    }

    @Test(arguments: ChunkedBody.accepted + ChunkedBody.acceptedOnlyHere)
    func `chunks come out as content, however they arrive`(_ body: ChunkedBody) throws {
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
    func `chunks that are cut short are no clean end`(_ body: ChunkedBody) {
        for end in 0..<(body.bytes.count - body.summary.rest.unicodeScalars.count) {
            #expect(readBody([body.bytes[..<end]], framed: .chunked).end == .unfinished)
        }
    }

    @Test func `the refusal of a chunk is not forgotten`() throws {
        var decoder = BodyDecoder(.chunked)
        var buffer = ByteBuffer(string: "1\r\na\nb")
        let first = try decoder.next(&buffer)
        #expect(first == .bytes(ByteBuffer(string: "a")))
        for _ in 0..<3 {
            #expect(throws: WireError.bad) { try decoder.next(&buffer) }
        }
    }

    @Test(arguments: [0, 1, 5, 200])
    func `a length takes exactly so many bytes, however they arrive`(length: Int) throws {
        let content = String(repeating: "x", count: length)
        let expected = BodySummary(content: content, end: .clean, rest: "GET ")
        for pieces in HTTPWireTests.arrivals(of: bytes(content + "GET ")) {
            try #require(readBody(pieces, framed: .length(length)) == expected, "in \(pieces.count) pieces")
        }
    }

    @Test func `a length that is not reached is no clean end`() {
        #expect(readBody([bytes("ab")[...]], framed: .length(3)) == BodySummary(content: "ab", end: .unfinished))
        #expect(!BodyDecoder(.length(3)).endsWithClose)
        #expect(!BodyDecoder(.chunked).endsWithClose)
    }

    @Test func `where there is no body, not a byte is taken`() {
        #expect(readBody([bytes("GET ")[...]], framed: .none) == BodySummary(end: .clean, rest: "GET "))
    }

    @Test func `a body until close takes all, and only the close ends it`() throws {
        for pieces in HTTPWireTests.arrivals(of: bytes("0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n")) {
            let summary = readBody(pieces, framed: .untilClose)
            try #require(summary == BodySummary(content: "0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", end: .unfinished))
        }
        #expect(BodyDecoder(.untilClose).endsWithClose)
    }

    @Test(arguments: [(BodyFraming.none, ""), (.length(0), ""), (.length(2), "ab"), (.chunked, "1\r\na\r\n0\r\n\r\n")])
    func `the end comes once, and nothing is taken behind it`(framing: BodyFraming, body: String) throws {
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

    @Test func `content is slices of what came, not copies`() throws {
        var decoder = BodyDecoder(.length(4))
        var buffer = ByteBufferAllocator().buffer(capacity: 1 << 16)
        buffer.writeString("abcd")
        guard case .bytes(let slice) = try decoder.next(&buffer) else {
            Issue.record("no content")
            return
        }
        // A copy would have room for itself only.
        #expect(slice.storageCapacity == buffer.storageCapacity)
    }
}

extension WireError {
    /// Any refusal of bytes that are no HTTP.
    static var bad: WireError { WireError(.badRequest, "") }
}
