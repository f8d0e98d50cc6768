import HTTPWire
import NIOCore

/// Writes the responses of one caller's connection as HTTP/1 text: how each body is framed for that caller, whether the
/// connection ends behind it, and when the kernel gets it.
final class HTTP1ResponseWriter {
    private let loop: GatewayLoop
    private let isOnUnixSocket: Bool
    private var context: ChannelHandlerContext?
    /// `nil` behind TLS.
    private var direct: SocketFastPath?
    private var outbox = WriteCoalescer()

    /// Of the request that is answered.
    private var method = HTTPMethod.other
    private var minorVersion: UInt8 = 1
    private var keepsAlive = false
    private var encoder = BodyEncoder(.none)
    /// The response says that the connection ends behind it.
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

    /// Throws away what waits for a flush.
    func clear() { self.outbox.clear() }
}

// MARK: - Responses

extension HTTP1ResponseWriter {
    /// A request has come; what follows answers it.
    func begin(_ request: RequestHead) {
        self.method = request.method
        self.minorVersion = request.minorVersion
        self.keepsAlive = request.keepsAlive
    }

    /// The response is over.
    func reset() {
        self.method = .other
        self.minorVersion = 1
        self.keepsAlive = false
        self.encoder = BodyEncoder(.none)
        self.closes = false
    }

    var showsCut: Bool { self.encoder.showsCut }

    func proceed() { self.write(Self.proceedHead) }

    /// A caller of HTTP/1.0 knows no interim responses.
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

    /// A body without a length ends with the connection for a caller of HTTP/1.0, and only a reset could tell it of a cut: a
    /// Unix socket has none.
    func head(
        _ response: ResponseHead,
        by route: Route?,
        closing: Bool,
        isReplayed: Bool,
        passesCookies: Bool
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
            targets: route?.targets,
            passesCookies: passesCookies,
            reusing: self.loop.answerHeads.take()
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

    /// Behind a malformed request the connection ends in any case: where the next one would begin can't be told.
    func localReply(_ error: GatewayError, isWhole: Bool) -> Int {
        self.closes = !isWhole || !self.keepsAlive || error.code == .badRequest || self.loop.isDraining
        let reply = error.reply(to: self.method, close: self.closes, keepAlive: !self.closes && self.minorVersion == 0)
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
        if isHead { self.loop.answerHeads.keep(bytes) }
        if self.direct?.send(&bytes) == true { return }
        self.direct?.usesChannel()
        self.context?.writeAndFlush(NIOAny(bytes), promise: nil)
    }
}
