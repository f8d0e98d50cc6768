package import NIOCore

/// A request's head: its bytes and where everything stands in them. Made only by ``RequestHeadParser``, so whoever holds
/// one holds a request that was judged whole.
package struct RequestHead: Sendable {
    /// The whole head with its final empty line; ranges count from its reader index.
    package let bytes: ByteBuffer
    /// The known methods by name.
    package let method: HTTPMethod
    /// The method as it came.
    package let methodName: ByteRange
    /// What is asked for, checked.
    package let target: RequestTarget
    /// 1 for HTTP/1.1, 0 for HTTP/1.0.
    package let minorVersion: UInt8
    /// All fields in order, also those that don't go on.
    package let fields: [Field]
    /// How the body that follows ends; never ``BodyFraming/untilClose``.
    package let body: BodyFraming
    /// The host the request names, by `Host` or by an absolute target, with its port; empty where HTTP/1.0 names none.
    package let host: ByteRange
    /// The caller keeps the connection open for another request.
    package let keepsAlive: Bool
    /// The caller waits for a 100 before it sends the body (RFC 9110 §10.1.1).
    package let expectsContinue: Bool
    /// The caller would go over to WebSocket on this connection (RFC 6455 §4.1); any other upgrade is ignored.
    package let asksForWebSocket: Bool
    /// There is a `Cookie`.
    package let hasCookies: Bool
    /// There is a field that some upstreams take for the request's method; see ``KnownField/isMethodOverride``.
    package let overridesMethod: Bool
    /// There is a name with `_`.
    let hasUnderscores: Bool

    /// To send it twice does no more than to send it once (RFC 9110 §9.2.2), also for an upstream that takes a field for its
    /// method.
    package var isIdempotent: Bool { self.method.isIdempotent && !self.overridesMethod }

    /// An upstream that takes a field for its method may send a body behind a head that has none here (RFC 9110 §9.3.2).
    package var mayMisleadItsAnswer: Bool { self.method == .head && self.overridesMethod }

    /// The host without its port.
    package var hostName: ByteRange {
        HostField.name(of: self.host, in: self.bytes.readableBytesUInt8Span)
    }
}
