import HTTPWire
import NIOCore
import Testing

/// A body that goes to an upstream.
struct OutgoingBody: Sendable {
    let framing: BodyFraming
    let content: [String]

    static let all = [
        OutgoingBody(framing: .none, content: []),
        OutgoingBody(framing: .length(0), content: []),
        OutgoingBody(framing: .length(5), content: ["he", "llo"]),
        OutgoingBody(framing: .chunked, content: ["GET /smuggled", " HTTP/1.1\r\n\r\n"]),
        OutgoingBody(framing: .chunked, content: []),
    ]
}

/// The bytes of one request as they go upstream: head, injected line, empty line, body.
private func wire(
    of request: RequestHead,
    to upstream: UpstreamRequest,
    injecting line: String,
    _ body: OutgoingBody
) -> [UInt8] {
    var wire = upstream.head(
        for: request,
        replacing: 0,
        framing: body.framing,
        spare: line.utf8.count
    )
    wire.writeString(line + "\r\n\r\n")
    var encoder = BodyEncoder(body.framing)
    for piece in body.content {
        switch encoder.frame(piece.utf8.count) {
        case .plain: wire.writeString(piece)
        case .chunk(let before):
            wire.writeImmutableBuffer(before)
            wire.writeString(piece + "\r\n")
        case .refused: Issue.record("content was refused")
        }
    }
    switch encoder.end() {
    case .silent: break
    case .lastChunk: wire.writeImmutableBuffer(upstream.lastChunk(nil))
    case .close, .short: Issue.record("no end that a request may have")
    }
    return Array(wire.readableBytesView)
}

private let stripped: Set<String> = [
    "connection", "keep-alive", "proxy-connection", "te", "upgrade", "http2-settings", "proxy-authorization",
    "proxy-authenticate", "forwarded", "x-real-ip", "expect", "x-original-url", "x-rewrite-url",
]

/// Expects that llhttp reads exactly one request from the bytes that go upstream for `request`.
///
/// That request has our framing and the host of the upstream. It has one injected field called `name`, and no field
/// that must not go upstream.
func expectOneRequest(leaving request: RequestHead, _ body: OutgoingBody, injecting name: String) throws {
    let summary = RequestSummary(request, rest: ByteBuffer())
    let upstream = UpstreamRequest(path: "/v2/", host: "api.example:444", via: Via(word: "w"), injectedName: name)
    var wire = wire(of: request, to: upstream, injecting: "\(name): t0ken", body)
    if request.method == .other {
        // llhttp knows only registered methods.
        wire.replaceSubrange(0..<summary.methodName.utf8.count, with: bytes("PURGE"))
    }
    let target = maskTarget(of: &wire)
    var comment: Comment { "from \(text(wire).debugDescription)" }
    let read = try RequestOracle.read(wire + head(["GET /next HTTP/1.1", "Host: next"]))
    try #require(read.count == 2, comment)
    #expect(read[1] == ReadMessage(start: "GET /next HTTP/1.1", fields: ["Host: next"], isWhole: true), comment)

    let first = read[0]
    let method = request.method == .other ? "PURGE" : summary.methodName
    let written = summary.isAsterisk ? "*" : "/v2\(summary.path.isEmpty ? "/" : summary.path)\(summary.query)"
    #expect(target == written, comment)
    let masked = text(bytes(written).map { $0 < 0x80 ? $0 : 0x78 })
    #expect(first.start == "\(method) \(masked) HTTP/1.1", comment)
    #expect(first.isWhole && text(first.body) == body.content.joined(), comment)
    #expect(first.values(of: "Host") == ["api.example:444"], comment)
    #expect(first.values(of: name) == ["t0ken"], comment)
    #expect(first.values(of: "Via").last?.hasSuffix(" martlet (w)") == true, comment)

    let lengths = first.values(of: "Content-Length")
    let codings = first.values(of: "Transfer-Encoding")
    switch body.framing {
    case .none:
        #expect(lengths == [] && codings == [], comment)
    case .length(let length): #expect(lengths == [String(length)] && codings == [], comment)
    case .chunked, .untilClose: #expect(lengths == [] && codings == ["chunked"], comment)
    }

    let names = first.fields.map { $0.prefix { $0 != ":" }.lowercased() }
    #expect(stripped.isDisjoint(with: names), comment)
    #expect(names.filter { $0 == "cookie" }.count == (name == "Cookie" ? 1 : 0), comment)
    #expect(!names.contains { $0.hasPrefix("martlet-") || $0.hasPrefix("x-forwarded-") }, comment)
    #expect(names.filter { $0 == "authorization" }.count == (name == "Authorization" ? 1 : 0), comment)
}
