import HTTPWire
import JSONText
import NIOCore
import Proxy
import Testing

@Suite struct DeadTokenSignTests {
    private static let slack = DeadTokenSign(status: 200, body: .object(["ok": .flag(false)]))
    private static let json = "Content-Type: application/json\r\nContent-Length: 12\r\n"

    @Test(arguments: [
        ("200 OK", json, DeadToken.Sight.inBody),
        ("403 No", json, .dead),
        ("403 No", "Content-Length: 0\r\n", .dead),
        ("401 No", json, .dead),
        ("201 OK", json, .alive),
        ("500 No", json, .alive),
        ("200 OK", "Content-Type: application/json; charset=utf-8\r\nContent-Length: 65536\r\n", .inBody),
        ("200 OK", "Content-Type: application/json\r\nContent-Length: 65537\r\n", .alive),
        ("200 OK", "Content-Type: application/json\r\nContent-Length: 0\r\n", .alive),
        ("200 OK", "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n", .alive),
        ("200 OK", "Content-Type: application/json\r\n", .alive),
        ("200 OK", "Content-Type: text/plain\r\nContent-Length: 12\r\n", .alive),
        ("200 OK", "Content-Encoding: br\r\n" + json, .alive),
    ])
    func `an answer is held only where its body can tell`(status: String, fields: String, sight: DeadToken.Sight) throws
    {
        let answer = try ResponseHead.parsed("HTTP/1.1 \(status)\r\n\(fields)\r\n")
        #expect(DeadToken.sight(of: answer, signs: [Self.slack, DeadTokenSign(status: 403)]) == sight)
    }

    @Test func `an answer to HEAD has nothing to look at`() throws {
        let answer = try ResponseHead.parsed("HTTP/1.1 200 OK\r\n\(Self.json)\r\n", answering: .head)
        #expect(DeadToken.sight(of: answer, signs: [Self.slack]) == .alive)
    }

    @Test(arguments: [
        (200, #"{"ok":false}"#, true), (200, #"{"ok": true}"#, false), (400, #"{"ok":false}"#, false), (200, "", false),
    ])
    func `the status and the body must both be the sign's`(status: Int, body: String, isShown: Bool) throws {
        let answer = try ResponseHead.parsed("HTTP/1.1 \(status) X\r\n\(Self.json)\r\n")
        #expect(Self.slack.isShown(by: answer, ByteBuffer(string: body)) == isShown)
    }
}
