/// A WebSocket handshake (RFC 6455 §4), reduced to what a gateway looks at.
enum Handshake {
    /// - Parameter fields: further field lines, each with its CRLF.
    static func request(_ path: String = "", _ fields: String = "") -> String {
        "GET /acme/\(path) HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            + "Sec-WebSocket-Key: a2V5\r\nSec-WebSocket-Version: 13\r\n\(fields)\r\n"
    }

    static let accepted =
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: eWVz\r\n\r\n"
}
