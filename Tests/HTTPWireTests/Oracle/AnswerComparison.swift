import HTTPWire
import NIOCore
import Testing

/// Expects that llhttp reads the same response from the bytes of `head`, with the same framing.
///
/// A body with the framing of the head follows, then a second response if the connection stays open. A reader that
/// frames the body differently would see more responses, fewer responses, or different content.
func expectSameReading(
    of head: ResponseHead,
    answering method: HTTPMethod,
    sourceLocation: SourceLocation = #_sourceLocation
) throws {
    let summary = ResponseSummary(head, rest: ByteBuffer())
    // The bytes after a 101 are not HTTP.
    let goesOn = summary.keepsAlive && summary.status != 101
    var wire = spaced(head.bytes, head.fields)
    // llhttp knows no version above 1.1.
    if wire[7] != 0x30 { wire[7] = 0x31 }
    let content: [UInt8]
    switch head.body {
    case .length(let length) where length > 1 << 16: return
    case .length(let length): content = Array(repeating: 0x62, count: length)
    case .chunked, .untilClose: content = bytes("hello")
    case .none: content = []
    }
    wire += head.body == .chunked ? bytes("5\r\nhello\r\n0\r\n\r\n") : content
    if goesOn { wire += HTTPWireTests.head(["HTTP/1.1 299 Next", "Content-Length: 0"]) }

    var messages = try ResponseOracle.read(
        wire,
        answering: [method == .head ? "HEAD" : "GET", "GET"],
        closes: head.body == .untilClose
    )
    if !messages.isEmpty { messages[0].fields = messages[0].fields.map(trimmed) }
    let version = text(wire.prefix(8))
    let first = ReadMessage(
        start: "\(version) \(summary.status)",
        fields: fieldsAsRead(head.fields, summary.fields),
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
