import HTTPWire
import NIOCore

/// Writes the responses of one caller's connection as HTTP/1 text. It decides how each body is framed for that caller,
/// whether the connection ends after the response, and when the kernel gets the bytes.
final class HTTP1ResponseWriter {
    private let loop: GatewayLoop
    private let isOnUnixSocket: Bool
    private var context: ChannelHandlerContext?
    /// `nil` for a connection with TLS.
    private var direct: SocketFastPath?
    private var outbox = WriteCoalescer()

    /// Method, version and persistence of the request in progress.
    private var method = HTTPMethod.other
    private var minorVersion: UInt8 = 1
    private var keepsAlive = false
    private var encoder = BodyEncoder(.none)
    /// The response says that the connection ends after it.
    private(set) var closes = false

    private static let proceedHead = ByteBuffer(string: "HTTP/1.1 100 Continue\r\n\r\n")

    init(loop: GatewayLoop, isOnUnixSocket: Bool) {
        self.loop = loop
        self.isOnUnixSocket = isOnUnixSocket
    }

    func added(to context: ChannelHandlerContext, isEncrypted: Bool) {
        self.context = context
        if !isEncrypted { self.direct = SocketFastPath(context.channel) }
    }

    func removed() {
        self.context = nil
        self.direct = nil
    }

    /// Discards the bytes that wait for a flush.
    func clear() { self.outbox.clear() }
}

// MARK: - Responses

extension HTTP1ResponseWriter {
    /// Prepares for the response to a request.
    func begin(_ request: RequestHead) {
        self.method = request.method
        self.minorVersion = request.minorVersion
        self.keepsAlive = request.keepsAlive
    }

    /// Prepares for the next request: the response is over.
    func reset() {
        self.method = .other
        self.minorVersion = 1
        self.keepsAlive = false
        self.encoder = BodyEncoder(.none)
        self.closes = false
    }

    var showsCut: Bool { self.encoder.showsCut }

    func proceed() { self.write(Self.proceedHead) }

    /// A caller that speaks HTTP/1.0 does not understand interim responses.
    func interim(_ response: ResponseHead, by route: Route?, passesCookies: Bool) -> Bool {
        guard self.minorVersion == 1 else { return false }
        self.write(Self.bodiless(response, by: route, passesCookies))
        return true
    }

    private static func bodiless(_ response: ResponseHead, by route: Route?, _ passesCookies: Bool) -> ByteBuffer {
        CallerResponse.head(
            of: response,
            framing: .none,
            close: false,
            targets: route?.targets,
            passesCookies: passesCookies
        )
    }

    /// For an HTTP/1.0 caller, a body without a length ends with the connection. Only a reset could show that such a
    /// body was cut, and a Unix socket has no reset.
    func head(
        _ response: ResponseHead,
        by route: Route?,
        closing: Bool,
        isReplayed: Bool,
        passesCookies: Bool,
        cacheLines: [UInt8]
    ) -> Bool {
        var framing = response.body
        if self.minorVersion == 0 {
            if framing.isChunked { framing = .untilClose }
        } else if framing.isUntilClose {
            framing = .chunked
        }
        guard !framing.isUntilClose || !self.isOnUnixSocket else { return false }
        let closes = closing || !self.keepsAlive || framing.isUntilClose || self.loop.isDraining
        self.closes = closes
        self.encoder = BodyEncoder(framing)
        let head = CallerResponse.head(
            of: response,
            framing: framing,
            close: closes,
            keepAlive: self.minorVersion == 0 && !closes,
            extra: isReplayed ? "Martlet-Replayed: 1\r\n" : "",
            cacheLines: cacheLines,
            date: response.hasDate ? nil : self.loop.dateLine,
            targets: route?.targets,
            passesCookies: passesCookies,
            reusing: self.loop.responseHeads.take()
        )
        self.write(head, isHead: true)
        return true
    }

    func body(_ bytes: ByteBuffer) -> Bool {
        switch self.encoder.frame(bytes.readableBytes) {
        case .plain:
            self.write(bytes)
        case .chunk(let before):
            self.write(before)
            self.write(bytes)
            self.write(.lineEnd)
        case .refused:
            return false
        }
        return true
    }

    func end(_ trailers: Trailers?) {
        if case .lastChunk = self.encoder.end() { self.write(CallerResponse.lastChunk(trailers)) }
    }

    func localReply(closes: Bool, _ make: (_ method: HTTPMethod, _ close: Bool, _ keepAlive: Bool) -> LocalReply) -> Int
    {
        self.closes = closes || !self.keepsAlive || self.loop.isDraining
        let reply = make(self.method, self.closes, !self.closes && self.minorVersion == 0)
        self.write(reply.bytes(with: self.loop.dateLine))
        return reply.bodyLength
    }

    func switchProtocols(_ response: ResponseHead, by route: Route, passesCookies: Bool) {
        self.closes = true
        self.encoder = BodyEncoder(.untilClose)
        self.write(Self.bodiless(response, by: route, passesCookies))
    }
}

// MARK: - Bytes

extension HTTP1ResponseWriter {
    private func write(_ bytes: ByteBuffer, isHead: Bool = false) {
        guard let full = self.outbox.put(bytes, isHead: isHead) else { return }
        self.direct?.usesChannel()
        self.context?.write(NIOAny(full.bytes), promise: nil)
    }

    var hasMuchToFlush: Bool { self.outbox.isLarge }

    func flush() {
        let isHead = self.outbox.holdsHead
        guard var bytes = self.outbox.take() else {
            self.context?.flush()
            return
        }
        if isHead { self.loop.responseHeads.keep(bytes) }
        if self.direct?.send(&bytes) == true { return }
        self.direct?.usesChannel()
        self.context?.writeAndFlush(NIOAny(bytes), promise: nil)
    }
}
