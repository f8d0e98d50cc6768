package import NIOCore

/// An answer's head: its bytes and where everything stands in them. Made only by ``ResponseHeadParser``.
package struct ResponseHead: Sendable {
    /// The whole head with its final empty line; ranges count from its reader index.
    package let bytes: ByteBuffer
    /// 1 for HTTP/1.1, 0 for HTTP/1.0.
    package let minorVersion: UInt8
    /// 100 to 999.
    package let status: Int
    /// From behind `HTTP/1.x ` to the end of the line with its CRLF: code and reason.
    package let statusLine: ByteRange
    /// All fields in order, also those that don't go on.
    package let fields: [Field]
    /// How the body that follows ends; ``BodyFraming/none`` for an answer to HEAD, 1xx, 204 and 304.
    package let body: BodyFraming
    /// What `Content-Length` says of an answer that has no body here (HEAD, 304): it passes.
    package let describedLength: Int?
    /// The connection serves another request after this one.
    package let keepsAlive: Bool
    /// A 101 that goes over to WebSocket: what follows is HTTP no more.
    package let switchesToWebSocket: Bool

    /// 1xx: another head follows.
    package var isInterim: Bool { self.status < 200 }
}

extension ResponseHead {
    /// There is a `Set-Cookie`.
    package var setsCookies: Bool {
        self.fields.contains { if case .setCookie = $0.known { true } else { false } }
    }
}
