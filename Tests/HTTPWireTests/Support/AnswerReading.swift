import HTTPWire
import NIOCore

/// A parsed response as text, to compare and to print.
struct ResponseSummary: Equatable, Sendable {
    var status: Int
    var statusLine: String
    var body: BodyFraming
    var describedLength: Int?
    var keepsAlive: Bool
    var isInterim: Bool
    var fields: [String]
    var passing: [String]
    var challenges: [Challenge]
    var rest: String

    init(_ head: ResponseHead, rest: ByteBuffer) {
        self.status = head.status
        self.statusLine = text(head.statusLine, of: head.bytes)
        self.body = head.body
        self.describedLength = head.describedLength
        self.keepsAlive = head.keepsAlive
        self.isInterim = head.isInterim
        self.fields = describe(head.fields, of: head.bytes)
        self.passing = describe(head.fields.filter { !$0.isStripped }, of: head.bytes)
        self.challenges = head.challenges
        self.rest = text(rest)
    }
}

/// Reads one response from bytes that arrive in `pieces`.
func readAnswer(
    _ pieces: [ArraySlice<UInt8>],
    answering method: HTTPMethod = .get,
    limits: HeadLimits = .response
) -> Reading<ResponseSummary> {
    do {
        guard let (head, rest) = try parseAnswer(pieces, answering: method, limits: limits) else { return .unfinished }
        return .whole(ResponseSummary(head, rest: rest))
    } catch {
        return .refused(error.code)
    }
}

/// The parsed head and the bytes after it, or `nil` if the head is incomplete.
func parseAnswer(
    _ pieces: [ArraySlice<UInt8>],
    answering method: HTTPMethod = .get,
    limits: HeadLimits = .response
) throws(WireError) -> (ResponseHead, rest: ByteBuffer)? {
    var parser = ResponseHeadParser(limits: limits)
    var buffer = ByteBuffer()
    var head: ResponseHead?
    for piece in pieces {
        buffer.writeBytes(piece)
        if head == nil { head = try parser.next(&buffer, answering: method) }
    }
    return head.map { ($0, buffer) }
}
