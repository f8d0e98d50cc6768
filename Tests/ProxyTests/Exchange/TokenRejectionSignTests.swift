import HTTPWire
import NIOCore
import Proxy
import Testing
import TextCoding

@Suite struct TokenRejectionSignTests {
    private static let slack = TokenRejectionSign(status: 200, body: .object(["ok": .flag(false)]))
    private static let json = "Content-Type: application/json\r\nContent-Length: 12\r\n"

    @Test(arguments: [
        ("200 OK", json, TokenRejection.Evidence.inBody),
        ("403 No", json, .rejected),
        ("403 No", "Content-Length: 0\r\n", .rejected),
        ("401 No", json, .rejected),
        ("201 OK", json, .accepted),
        ("500 No", json, .accepted),
        ("200 OK", "Content-Type: application/json; charset=utf-8\r\nContent-Length: 65536\r\n", .inBody),
        ("200 OK", "Content-Type: application/json\r\nContent-Length: 65537\r\n", .accepted),
        ("200 OK", "Content-Type: application/json\r\nContent-Length: 0\r\n", .accepted),
        ("200 OK", "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n", .accepted),
        ("200 OK", "Content-Type: application/json\r\n", .accepted),
        ("200 OK", "Content-Type: text/plain\r\nContent-Length: 12\r\n", .accepted),
        ("200 OK", "Content-Encoding: br\r\n" + json, .accepted),
    ])
    func `a response is held only if its body can show a rejection`(
        status: String,
        fields: String,
        sight: TokenRejection.Evidence
    )
        throws
    {
        let answer = try ResponseHead.parsed("HTTP/1.1 \(status)\r\n\(fields)\r\n")
        #expect(TokenRejection.evidence(of: answer, signs: [Self.slack, TokenRejectionSign(status: 403)]) == sight)
    }

    @Test func `a response to HEAD has no body to inspect`() throws {
        let answer = try ResponseHead.parsed("HTTP/1.1 200 OK\r\n\(Self.json)\r\n", answering: .head)
        #expect(TokenRejection.evidence(of: answer, signs: [Self.slack]) == .accepted)
    }

    @Test(arguments: [
        (200, #"{"ok":false}"#, true), (200, #"{"ok": true}"#, false), (400, #"{"ok":false}"#, false), (200, "", false),
    ])
    func `both the status and the body must match the sign`(status: Int, body: String, isShown: Bool) throws {
        let answer = try ResponseHead.parsed("HTTP/1.1 \(status) X\r\n\(Self.json)\r\n")
        #expect(Self.slack.isShown(by: answer, ByteBuffer(string: body)) == isShown)
    }
}
