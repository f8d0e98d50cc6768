import HTTPWire
import NIOCore
import Testing

/// Expects that llhttp reads the same answer from the bytes of `head`, with the same framing.
///
/// What follows the head is a body as it says, then a second answer where the connection stays: a reader that frames the
/// body otherwise would see more or fewer, or other content.
func expectSameReading(
    of head: ResponseHead,
    answering method: HTTPMethod,
    sourceLocation: SourceLocation = #_sourceLocation
) throws {
    let summary = AnswerSummary(head, rest: ByteBuffer())
    // Behind 101 the bytes are no HTTP.
    let goesOn = summary.keepsAlive && summary.status != 101
    var wire = spaced(head.bytes, head.fields)
    let content: [UInt8]
    switch head.body {
    case .length(let length) where length > 1 << 16: return
    case .length(let length): content = Array(repeating: 0x62, count: length)
    case .chunked, .untilClose: content = bytes("hello")
    case .none: content = []
    }
    wire += head.body == .chunked ? bytes("5\r\nhello\r\n0\r\n\r\n") : content
    if goesOn { wire += HTTPWireTests.head(["HTTP/1.1 299 Next", "Content-Length: 0"]) }

    var messages = try AnswerOracle.read(
        wire,
        answering: [method == .head ? "HEAD" : "GET", "GET"],
        closes: head.body == .untilClose
    )
    if !messages.isEmpty { messages[0].fields = messages[0].fields.map(trimmed) }
    let version = text(wire.prefix(8))
    let first = ReadMessage(
        start: "\(version) \(summary.status)",
        fields: summary.fields.map { trimmed(asRead($0)) },
        body: content,
        isWhole: true
    )
    let next = ReadMessage(start: "HTTP/1.1 299", fields: ["Content-Length: 0"], isWhole: true)
    #expect(
        messages == (goesOn ? [first, next] : [first]),
        "from \(text(wire).debugDescription)",
        sourceLocation: sourceLocation
    )
}
