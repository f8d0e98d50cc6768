import HTTPWire
import NIOCore
import Testing

/// Text as the reader around llhttp returns it: decoded as UTF-8, with invalid bytes replaced.
func asRead(_ text: String) -> String {
    String(decoding: bytes(text), as: UTF8.self)
}

/// A field without trailing whitespace, which is not part of the value (RFC 9110 §5.5). llhttp leaves it in place.
func trimmed(_ field: String) -> String {
    let trimmed = field.reversed().drop { $0 == " " || $0 == "\t" }
    let text = String(trimmed.reversed())
    return text.hasSuffix(":") ? text + " " : text
}

/// Replaces each byte above 0x7F in the target by `x`, because llhttp refuses such bytes.
///
/// - Returns: the original target.
func maskTarget(of wire: inout [UInt8]) -> String {
    let start = (wire.firstIndex(of: 0x20) ?? 0) + 1
    let target = Array(wire[start...].prefix { $0 != 0x20 })
    wire.replaceSubrange(start..<start + target.count, with: target.map { $0 < 0x80 ? $0 : 0x78 })
    return text(target)
}

private let methodsOfOracle: Set<String> = [
    "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "PURGE", "PROPFIND", "QUERY", "LOCK",
]

/// The bytes of a head, with a space for each tab around a length or a coding, and for each comma around a coding.
///
/// RFC 9110 §5.6.3 allows tabs, and §5.6.1 empty elements in a list. llhttp accepts only spaces.
func spaced(_ head: ByteBuffer, _ fields: [Field]) -> [UInt8] {
    var bytes = Array(head.readableBytesView)
    for field in fields where field.known == .contentLength || field.known == .transferEncoding {
        for index in field.line.lower..<field.line.upper {
            let isComma = bytes[index] == 0x2C && field.known == .transferEncoding
            if bytes[index] == 0x09 || isComma { bytes[index] = 0x20 }
        }
    }
    return bytes
}

/// The fields that llhttp reads from what ``spaced(_:_:)`` returns.
///
/// - Parameter lines: the same fields as text.
func fieldsAsRead(_ fields: [Field], _ lines: [String]) -> [String] {
    zip(fields, lines).map { field, line in
        let read = trimmed(asRead(line))
        guard field.known == .transferEncoding else { return read }
        let name = read.prefix { $0 != ":" }
        let coding: Substring = read.dropFirst(name.count).filter { $0.isLetter }
        return "\(name): \(coding)"
    }
}

/// Expects that llhttp reads the same request from the bytes of `head`, with the same framing.
///
/// A body with the framing of the head follows, then a second request if the connection stays open. A reader that
/// frames the body differently would see more requests, fewer requests, or different content.
func expectSameReading(
    of head: RequestHead,
    sourceLocation: SourceLocation = #_sourceLocation
) throws {
    let summary = RequestSummary(head, rest: ByteBuffer())
    var wire = spaced(head.bytes, head.fields)
    var method = summary.methodName
    if !methodsOfOracle.contains(method) {
        // llhttp knows only registered methods.
        wire.replaceSubrange(0..<wire.prefix { $0 != 0x20 }.count, with: bytes("PURGE"))
        method = "PURGE"
    }
    // llhttp knows no version above 1.1.
    if let end = wire.firstIndex(of: 0x0D), wire[end - 1] != 0x30 { wire[end - 1] = 0x31 }

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
        fields: fieldsAsRead(head.fields, summary.fields),
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
