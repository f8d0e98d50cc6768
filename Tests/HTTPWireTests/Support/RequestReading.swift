import HTTPWire
import NIOCore

typealias Refusal = WireError.Code

/// A parsed request as text, to compare and to print.
struct RequestSummary: Equatable, Sendable {
    var method: HTTPMethod
    var methodName: String
    var path: String
    var query: String
    var authority: String?
    var isAsterisk: Bool
    var isEncoded: Bool
    var minorVersion: UInt8
    var host: String
    var hostName: String
    var body: BodyFraming
    var keepsAlive: Bool
    var expectsContinue: Bool
    /// `name: value` of each field, in order.
    var fields: [String]
    /// The fields that may go upstream.
    var passing: [String]
    /// The bytes that the parser did not take.
    var rest: String

    init(_ head: RequestHead, rest: ByteBuffer) {
        self.method = head.method
        self.methodName = text(head.methodName, of: head.bytes)
        self.path = text(head.target.path, of: head.bytes)
        self.query = text(head.target.query, of: head.bytes)
        self.authority = head.target.authority.map { text($0, of: head.bytes) }
        self.isAsterisk = head.target.isAsterisk
        self.isEncoded = head.target.isEncoded
        self.minorVersion = head.minorVersion
        self.host = text(head.host, of: head.bytes)
        self.hostName = text(head.hostName(in: head.bytes.readableBytesUInt8Span), of: head.bytes)
        self.body = head.body
        self.keepsAlive = head.keepsAlive
        self.expectsContinue = head.expectsContinue
        self.fields = describe(head.fields, of: head.bytes)
        self.passing = describe(head.fields.filter { !$0.isStripped }, of: head.bytes)
        self.rest = text(rest)
    }
}

/// `name: value` of each field.
func describe(_ fields: [Field], of buffer: ByteBuffer) -> [String] {
    fields.map { "\(text($0.name, of: buffer)): \(text($0.value, of: buffer))" }
}

/// Reads one request from bytes that arrive in `pieces`.
func readRequest(_ pieces: [ArraySlice<UInt8>], limits: HeadLimits = .request) -> Reading<RequestSummary> {
    do {
        guard let (head, rest) = try parseRequest(pieces, limits: limits) else { return .unfinished }
        return .whole(RequestSummary(head, rest: rest))
    } catch {
        return .refused(error.code)
    }
}

/// The parsed head and the bytes after it, or `nil` if the head is incomplete.
func parseRequest(
    _ pieces: [ArraySlice<UInt8>],
    limits: HeadLimits = .request
) throws(WireError) -> (RequestHead, rest: ByteBuffer)? {
    var parser = RequestHeadParser(limits: limits)
    var buffer = ByteBuffer()
    var head: RequestHead?
    for piece in pieces {
        buffer.writeBytes(piece)
        if head == nil { head = try parser.next(&buffer) }
    }
    return head.map { ($0, buffer) }
}
