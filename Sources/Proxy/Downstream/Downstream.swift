import HTTPWire
import NIOCore

/// Where an exchange sends its response: one caller's HTTP/1 connection, which passes requests to the exchange one
/// after the other, by ``Exchange/begin(_:)``, ``Exchange/requestBytes(_:)`` and ``Exchange/requestEnded(_:)``; or
/// nobody, where a response cache asks on its own behalf.
///
/// The exchange sees nothing of HTTP/1's text or framing here. A stream of an HTTP/2 connection will be another case.
enum Downstream {
    case http1(HTTP1Downstream)
    case nobody(Revalidation)

    private var connection: HTTP1Downstream? {
        switch self {
        case .http1(let connection): connection
        case .nobody: nil
        }
    }

    /// Notes that the request is authenticated.
    ///
    /// - Returns: `false` if the connection has lost its place to another one, and ends.
    func keepsPlace() -> Bool { self.connection?.keepsPlace() ?? true }

    /// Whether the connection takes more of the response.
    var isWritable: Bool { self.connection?.isWritable ?? true }
    /// Whether so much waits for a flush that it should be sent at once.
    var hasMuchToFlush: Bool { self.connection?.writer.hasMuchToFlush ?? false }
    /// Whether the caller can tell that the response was cut, if the connection ends now.
    var showsCut: Bool { self.connection?.writer.showsCut ?? false }
    /// Whether HTTP is over and bytes go both ways.
    var isTunnelling: Bool { self.connection?.isTunnelling ?? false }
    /// The caller's address and scheme, for upstreams that get forwarding fields.
    var hop: ForwardingHop? {
        switch self {
        case .http1(let connection): connection.hop
        case .nobody(let revalidation): revalidation.hop
        }
    }

    /// Writes `100 Continue`: the exchange takes the body.
    func proceed() { self.connection?.writer.proceed() }

    /// Writes an interim response other than 100 and 101.
    ///
    /// - Returns: whether the caller gets it.
    func interim(_ response: ResponseHead, by route: Route?, passesCookies: Bool) -> Bool {
        self.connection?.writer.interim(response, by: route, passesCookies: passesCookies) ?? false
    }

    /// Writes the head of the response.
    ///
    /// - Parameters:
    ///   - closing: the rest of the request can't be forwarded, so no next request can follow.
    ///   - isReplayed: the request was sent twice, and its token rejected twice.
    ///   - cacheLines: whole lines that a response cache adds.
    /// - Returns: whether it was written; `false` if nobody could tell that the response was cut.
    func head(
        _ response: ResponseHead,
        by route: Route?,
        closing: Bool,
        isReplayed: Bool,
        passesCookies: Bool,
        cacheLines: [UInt8]
    ) -> Bool {
        self.connection?.writer.head(
            response,
            by: route,
            closing: closing,
            isReplayed: isReplayed,
            passesCookies: passesCookies,
            cacheLines: cacheLines
        ) ?? true
    }

    /// - Returns: whether the response's framing allows it.
    func body(_ bytes: ByteBuffer) -> Bool { self.connection?.writer.body(bytes) ?? true }

    /// Ends the response, which is whole. In a tunnel: the upstream sends no more.
    func end(_ trailers: Trailers?) { self.connection?.end(trailers) }

    /// Writes a whole local reply.
    ///
    /// - Parameters:
    ///   - closes: no next request can follow.
    ///   - make: makes it for a method, and for a connection that closes, or says to an HTTP/1.0 caller that it stays.
    /// - Returns: how long its body is, in bytes.
    func localReply(closes: Bool, _ make: (_ method: HTTPMethod, _ close: Bool, _ keepAlive: Bool) -> LocalReply) -> Int
    {
        self.connection?.writer.localReply(closes: closes, make) ?? 0
    }

    /// Writes the 101 of a tunnel, which begins behind it.
    func switchProtocols(_ response: ResponseHead, by route: Route, passesCookies: Bool) {
        self.connection?.switchProtocols(response, by: route, passesCookies: passesCookies)
    }

    /// Hands what was written to the kernel.
    func flush() { self.connection?.writer.flush() }

    /// Continues reading: the exchange takes more of the body.
    func resume() { self.connection?.resume() }

    /// The exchange is over: the next request may begin, or the connection ends.
    ///
    /// - Parameter isWhole: the caller has sent all of its request.
    func finished(isWhole: Bool) {
        switch self {
        case .http1(let connection): connection.finished(isWhole: isWhole)
        case .nobody(let revalidation): revalidation.ended()
        }
    }

    /// Ends the connection after a response whose framing shows that it was cut.
    func cut(isWhole: Bool) {
        switch self {
        case .http1(let connection): connection.cut(isWhole: isWhole)
        case .nobody(let revalidation): revalidation.ended()
        }
    }

    /// Resets the connection, so that a partial response can't be taken for a whole one.
    func reset() {
        switch self {
        case .http1(let connection): connection.reset()
        case .nobody(let revalidation): revalidation.ended()
        }
    }

    /// Closes the connection: the caller has left in the middle of its request.
    func leave() { self.connection?.leave() }
}
