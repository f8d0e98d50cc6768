import HTTPWire
import NIOCore
import Testing

@Suite struct KeepAliveTests {
    private func head(_ fields: String) throws -> ResponseHead {
        var parser = ResponseHeadParser()
        var bytes = ByteBuffer(string: "HTTP/1.1 200 OK\r\n\(fields)Content-Length: 0\r\n\r\n")
        return try #require(try parser.next(&bytes, answering: .get))
    }

    @Test(
        arguments: [
            ("", nil),
            ("Keep-Alive: timeout=5\r\n", 5),
            ("keep-alive:  TIMEOUT = 5 \r\n", 5),
            ("Keep-Alive: timeout=0\r\n", 0),
            ("Keep-Alive: timeout=5, max=100\r\n", 5),
            ("Keep-Alive: max=100,timeout=05\r\n", 5),
            ("Keep-Alive: timeout=9, timeout=4\r\nKeep-Alive: timeout=6\r\n", 4),
            ("Keep-Alive: timeout=6\r\nKeep-Alive: timeout=4\r\n", 4),
            ("Keep-Alive: max=100\r\n", nil),
            ("Keep-Alive: 300\r\n", nil),
            ("Keep-Alive: timeout=\r\n", nil),
            ("Keep-Alive: timeout=-1\r\n", nil),
            ("Keep-Alive: timeout=5s\r\n", nil),
            ("Keep-Alive: xtimeout=5\r\n", nil),
            ("Keep-Alive: timeout=99999999999999999999999999\r\n", 86_400),
        ] as [(String, Int?)]
    )
    func `an upstream's idle timeout is read in seconds, and a malformed one is ignored`(
        fields: String,
        seconds: Int?
    ) throws {
        #expect(try self.head(fields).keepAliveTimeout == seconds)
    }
}
