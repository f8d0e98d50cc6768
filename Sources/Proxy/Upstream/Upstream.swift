import HTTPWire
import NIOCore

/// The connection to which an exchange sends its request: HTTP/1.1, leased from an ``UpstreamPool`` until ``release()``
/// or ``cancel()``. The exchange gets the response through ``Exchange/responded(_:)``, ``Exchange/responseBytes(_:)``
/// and ``Exchange/responseEnded(_:isReusable:)``, or ``Exchange/upstreamLost(beforeAnyByte:beforeAnyFlush:)``.
///
/// HTTP/1's text and framing are hidden here. A stream of an HTTP/2 connection will be another case.
enum Upstream {
    case http1(HTTP1Upstream)

    private var connection: HTTP1Upstream {
        switch self {
        case .http1(let connection): connection
        }
    }

    /// The connection has served another request, so the upstream may have closed it just now.
    var isReused: Bool { self.connection.isReused }
    /// The connection accepts more of the body.
    var isWritable: Bool { self.connection.writer.isWritable }
    /// So much waits for a flush that it should be flushed at once.
    var hasMuchToFlush: Bool { self.connection.writer.hasMuchToFlush }
    /// A part of the request was handed to the kernel, whether or not the kernel took it.
    var hasFlushed: Bool { self.connection.writer.hasFlushed }
    /// All of the request has been written, as its head announces it.
    var hasSentAll: Bool { self.connection.writer.hasSentAll }
    /// The kernel has all of the request head.
    var isHeadOut: Bool { self.connection.isHeadOut }

    /// The head to send, without the token, which ``Gateway/authorize(_:_:refused:)`` adds.
    ///
    /// - Parameters:
    ///   - framing: the framing of the body.
    ///   - asks: the body waits for the upstream's `100 Continue`.
    ///   - validators: as in ``UpstreamRequest``.
    ///   - hop: the caller, where the upstream is told of it.
    ///   - buffer: a buffer whose memory is used again.
    func head(
        for head: RequestHead,
        _ match: RouteTable.Match,
        framing: BodyFraming,
        asks: Bool,
        validators: [UInt8]?,
        hop: ForwardingHop?,
        reusing buffer: consuming ByteBuffer
    ) -> ByteBuffer {
        match.route.rewrite.head(
            for: head,
            replacing: match.route.plan.strip ? match.prefix : 0,
            framing: framing,
            expects: asks,
            validators: validators,
            hop: hop,
            spare: 1_024,
            reusing: buffer
        )
    }

    /// Starts a request; its response goes to `exchange`.
    func begin(_ head: consuming AuthorizedHead, of exchange: Exchange, method: HTTPMethod, framing: BodyFraming) {
        self.connection.begin(head, of: exchange, method: method, framing: framing)
    }

    /// - Returns: whether the request's framing allows it.
    func body(_ bytes: ByteBuffer) -> Bool { self.connection.writer.body(bytes) }

    /// The request is complete; in a tunnel, the caller sends no more.
    ///
    /// - Parameter rewrite: says which trailers pass.
    /// - Returns: whether the request's framing allows it.
    func end(_ trailers: Trailers?, by rewrite: UpstreamRequest?) -> Bool { self.connection.end(trailers, by: rewrite) }

    /// Hands the written bytes to the kernel.
    func flush(on loop: GatewayLoop) { self.connection.writer.flush(on: loop) }

    /// The caller accepts more of the response.
    func resumeReading() { self.connection.resumeReading() }

    /// Holds the response whose head has just come, until a decision.
    func holdResponse() { self.connection.holdResponse() }

    /// Passes the held response to the caller.
    func resumeResponse() { self.connection.resumeResponse() }

    /// Drops the held response: its connection serves another request, or ends.
    func discardResponse() { self.connection.discardResponse() }

    /// The response has ended, and the request goes on.
    func responseEnded() { self.connection.responseEnded() }

    /// Returns the connection to its pool, for another exchange.
    func release() { self.connection.release() }

    /// Closes the connection. The exchange is over, and the upstream may still be sending its response.
    func cancel() { self.connection.close() }

    /// Like ``cancel()``, but nothing that was written leaves from now on.
    func sever() { self.connection.sever() }

    /// Makes the connection a tunnel: bytes go both ways until both sides have ended theirs.
    func tunnel() { self.connection.tunnel() }

    /// Ends a tunnel whose sides have both ended. The connection closes when the written bytes have left, or after
    /// `limit` at the latest.
    func closeWhenWritten(within limit: Duration) { self.connection.closeWhenWritten(within: limit) }
}

extension Upstream: Equatable {
    static func == (left: Upstream, right: Upstream) -> Bool { left.connection === right.connection }
}
