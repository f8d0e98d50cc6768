import HTTPWire
import NIOCore

/// What an exchange sends its request to: one HTTP/1.1 connection, leased from an ``UpstreamPool`` until ``release()`` or
/// ``cancel()``. Its response comes to the exchange by ``Exchange/responded(_:)``, ``Exchange/responseBytes(_:)`` and
/// ``Exchange/responseEnded(_:isReusable:)``, or ``Exchange/upstreamLost(beforeAnyByte:beforeAnyFlush:)``.
///
/// Nothing of HTTP/1's text or framing is seen here. A stream of an HTTP/2 connection will be another case.
enum Upstream {
    case http1(HTTP1Upstream)

    private var connection: HTTP1Upstream {
        switch self {
        case .http1(let connection): connection
        }
    }

    /// It has served another request before: the upstream may have closed it just now.
    var isReused: Bool { self.connection.isReused }
    /// It takes more of the body.
    var isWritable: Bool { self.connection.writer.isWritable }
    /// So much waits for a flush that it had better go at once.
    var hasMuchToFlush: Bool { self.connection.writer.hasMuchToFlush }
    /// Something of the request has gone to the kernel, or would have if that had taken it.
    var hasFlushed: Bool { self.connection.writer.hasFlushed }
    /// The request has gone out whole, as its head says.
    var hasSentAll: Bool { self.connection.writer.hasSentAll }
    /// The kernel has all of the head.
    var isHeadOut: Bool { self.connection.isHeadOut }

    /// The head that will be sent, but for the token, which ``Gateway/authorize(_:_:refused:)`` adds.
    ///
    /// - Parameters:
    ///   - framing: of the body.
    ///   - asks: the body waits until the upstream says that it wants it.
    ///   - hop: the caller, where the upstream is told of it.
    ///   - buffer: whose memory to use.
    func head(
        for head: RequestHead,
        _ match: RouteTable.Match,
        framing: BodyFraming,
        asks: Bool,
        hop: ForwardingHop?,
        reusing buffer: consuming ByteBuffer
    ) -> ByteBuffer {
        match.route.rewrite.head(
            for: head,
            replacing: match.route.plan.strip ? match.prefix : 0,
            framing: framing,
            expects: asks,
            hop: hop,
            spare: 1_024,
            reusing: buffer
        )
    }

    /// Takes up a request; its response goes to `exchange`.
    func begin(_ head: consuming AuthorizedHead, of exchange: Exchange, method: HTTPMethod, framing: BodyFraming) {
        self.connection.begin(head, of: exchange, method: method, framing: framing)
    }

    /// - Returns: whether the request's framing allows it.
    func body(_ bytes: ByteBuffer) -> Bool { self.connection.writer.body(bytes) }

    /// The request is whole; of a tunnel, the caller sends no more.
    ///
    /// - Parameter rewrite: says which trailers pass.
    /// - Returns: whether the request's framing allows it.
    func end(_ trailers: Trailers?, by rewrite: UpstreamRequest?) -> Bool { self.connection.end(trailers, by: rewrite) }

    /// Hands what was written to the kernel.
    func flush(on loop: GatewayLoop) { self.connection.writer.flush(on: loop) }

    /// The caller takes more of the response.
    func resumeReading() { self.connection.resumeReading() }

    /// The response whose head has just come waits for a decision.
    func holdResponse() { self.connection.holdResponse() }

    /// The response that is held goes to the caller after all.
    func resumeResponse() { self.connection.resumeResponse() }

    /// The response that is held is not wanted: its connection serves another request, or ends.
    func discardResponse() { self.connection.discardResponse() }

    /// The response has ended, and the request goes on.
    func responseEnded() { self.connection.responseEnded() }

    /// Another exchange may have it.
    func release() { self.connection.release() }

    /// The exchange is over, and the upstream may be in the middle of its own.
    func cancel() { self.connection.close() }

    /// As ``cancel()``, and nothing that was written leaves from now on.
    func sever() { self.connection.sever() }

    /// What comes from here on is no response: bytes go both ways until both sides have ended theirs.
    func tunnel() { self.connection.tunnel() }

    /// Both sides of a tunnel have ended: the connection does behind what was written, or when that takes longer than
    /// `limit`.
    func closeWhenWritten(within limit: Duration) { self.connection.closeWhenWritten(within: limit) }
}

extension Upstream: Equatable {
    static func == (left: Upstream, right: Upstream) -> Bool { left.connection === right.connection }
}
