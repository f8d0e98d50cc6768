import HTTPWire
import NIOCore
import Proxy
import Testing
import TokenModel

@Suite struct DateLineTests {
    private func bytes(_ line: inout DateLine, at milliseconds: Int64) -> String {
        String(buffer: line.bytes(at: WallTime(millisecondsSince1970: milliseconds)))
    }

    @Test func `each second has its own line`() {
        var line = DateLine()
        #expect(self.bytes(&line, at: 784_111_777_000) == "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n")
        #expect(self.bytes(&line, at: 784_111_777_999) == "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n")
        #expect(self.bytes(&line, at: 784_111_778_000) == "Date: Sun, 06 Nov 1994 08:49:38 GMT\r\n")
        // The clock was set back.
        #expect(self.bytes(&line, at: 784_111_777_000) == "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n")
    }

    @Test func `within a second the line is written only once`() {
        var line = DateLine()
        let first = line.bytes(at: WallTime(millisecondsSince1970: 784_111_777_000))
        let second = line.bytes(at: WallTime(millisecondsSince1970: 784_111_777_900))
        let places = unsafe [first, second].map { buffer in unsafe buffer.withVeryUnsafeBytes { $0.baseAddress } }
        #expect(unsafe places[0] == places[1])
    }

    @Test func `the line follows the status line, and nothing else changes`() throws {
        let answer = GatewayError(.noRoute, "x").reply(to: .get, close: true)
        let dated = String(buffer: answer.bytes(with: ByteBuffer(string: "Date: now\r\n")))
        #expect(dated.hasPrefix("HTTP/1.1 404 Not Found\r\nDate: now\r\nContent-Type:"))
        #expect(dated.replacing("Date: now\r\n", with: "") == String(buffer: answer.bytes))
    }
}
