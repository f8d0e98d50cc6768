import HTTPWire
import NIOCore
import Testing

/// Text as llhttp's reader hands it out: values are taken for UTF-8 there, and what is none is replaced.
func asRead(_ text: String) -> String {
    String(decoding: bytes(text), as: UTF8.self)
}

/// White space around a value is not part of it (RFC 9110 §5.5); llhttp leaves what stands behind it.
func trimmed(_ field: String) -> String {
    let trimmed = field.reversed().drop { $0 == " " || $0 == "\t" }
    let text = String(trimmed.reversed())
    return text.hasSuffix(":") ? text + " " : text
}

/// Puts `x` for each byte above 0x7F in the target, which llhttp does not take.
///
/// - Returns: the target as it was.
func maskTarget(of wire: inout [UInt8]) -> String {
    let start = (wire.firstIndex(of: 0x20) ?? 0) + 1
    let target = Array(wire[start...].prefix { $0 != 0x20 })
    wire.replaceSubrange(start..<start + target.count, with: target.map { $0 < 0x80 ? $0 : 0x78 })
    return text(target)
}

private let methodsOfOracle: Set<String> = [
    "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "PURGE", "PROPFIND", "QUERY", "LOCK",
]

/// The bytes of a head, with spaces for the tabs around a length: RFC 9110 §5.6.3 allows both, llhttp takes spaces only.
func spaced(_ head: ByteBuffer, _ fields: [Field]) -> [UInt8] {
    var bytes = Array(head.readableBytesView)
    for field in fields where field.known == .contentLength {
        for index in field.line.lower..<field.line.upper where bytes[index] == 0x09 { bytes[index] = 0x20 }
    }
    return bytes
}

/// Expects that llhttp reads the same request from the bytes of `head`, with the same framing.
///
/// What follows the head is a body as it says, then a second request: a reader that frames the body otherwise would see
/// more or fewer than two, or other content.
func expectSameReading(
    of head: RequestHead,
    sourceLocation: SourceLocation = #_sourceLocation
) throws {
    let summary = RequestSummary(head, rest: ByteBuffer())
    var wire = spaced(head.bytes, head.fields)
    var method = summary.methodName
    if !methodsOfOracle.contains(method) {
        // llhttp knows the registered methods only.
        wire.replaceSubrange(0..<wire.prefix { $0 != 0x20 }.count, with: bytes("PURGE"))
        method = "PURGE"
    }

    let content: [UInt8]
    switch head.body {
    case .length(let length) where length > 1 << 16: return
    case .length(let length): content = Array(repeating: 0x62, count: length)
    case .chunked: content = bytes("hello")
    case .none, .untilClose: content = []
    }
    wire += head.body == .chunked ? bytes("5\r\nhello\r\n0\r\n\r\n") : content
    if summary.keepsAlive { wire += HTTPWireTests.head(["GET /next HTTP/1.1", "Host: next"]) }

    _ = maskTarget(of: &wire)
    let messages = try RequestOracle.read(wire)
    let target = text(wire.split(separator: 0x20, maxSplits: 2, omittingEmptySubsequences: false)[1])
    let first = ReadMessage(
        start: "\(method) \(target) HTTP/1.\(summary.minorVersion)",
        fields: summary.fields.map { trimmed(asRead($0)) },
        body: content,
        isWhole: true
    )
    let next = ReadMessage(start: "GET /next HTTP/1.1", fields: ["Host: next"], isWhole: true)
    var read = messages
    if !read.isEmpty { read[0].fields = read[0].fields.map(trimmed) }
    #expect(
        read == (summary.keepsAlive ? [first, next] : [first]),
        "from \(text(wire).debugDescription)",
        sourceLocation: sourceLocation
    )
}
