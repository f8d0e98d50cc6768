import HTTPWire
import NIOCore

/// Writes the requests of one upstream connection as HTTP/1 text: how each body is framed, and when the kernel gets it. The
/// memory of a head is overwritten as soon as that has gone, since it holds a token.
final class HTTP1RequestWriter {
    private var context: ChannelHandlerContext?
    /// `nil` behind TLS.
    private var direct: SocketFastPath?
    private var outbox = WriteCoalescer()
    private var encoder = BodyEncoder(.none)
    /// A head that was given to the channel, until that has let go of it.
    private var lentHead: ByteBuffer?
    var isWritable = true
    /// Something of the request that is out has gone to the kernel, or would have if that had taken it.
    private(set) var hasFlushed = false
    /// What was written behind the head that is out, in bytes.
    private(set) var behindHead = 0

    func added(to context: ChannelHandlerContext) { self.context = context }

    func removed() {
        self.clear()
        self.wipeHead()
        self.context = nil
        self.direct = nil
    }

    /// No handler changes what is written from here on.
    func goesDirectly() { self.direct = (self.context?.channel).flatMap { SocketFastPath($0) } }

    /// Throws away what waits for a flush.
    func clear() { self.outbox.clear() }
}

// MARK: - Requests

extension HTTP1RequestWriter {
    func begin(_ head: consuming AuthorizedHead, framing: BodyFraming) {
        self.encoder = BodyEncoder(framing)
        self.hasFlushed = false
        self.write(head.open(), isHead: true)
    }

    /// The request has gone out whole, as its head says.
    var hasSentAll: Bool { self.encoder.isEnded }

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

    func end(_ trailers: Trailers?, by rewrite: UpstreamRequest?) -> Bool {
        switch self.encoder.end() {
        case .silent: return true
        case .lastChunk:
            guard let rewrite else { return false }
            self.write(rewrite.lastChunk(trailers))
            return true
        case .short, .close: return false
        }
    }

    /// What follows is no request.
    func tunnel() {
        self.wipeHead()
        self.encoder = BodyEncoder(.untilClose)
    }
}

// MARK: - Bytes

extension HTTP1RequestWriter {
    private func write(_ bytes: ByteBuffer, isHead: Bool = false) {
        self.behindHead = isHead ? 0 : self.behindHead &+ bytes.readableBytes
        guard let full = self.outbox.put(bytes, isHead: isHead) else { return }
        if full.holdsHead { self.lentHead = full.bytes }
        self.direct?.usesChannel()
        self.context?.write(NIOAny(full.bytes), promise: nil)
    }

    var hasMuchToFlush: Bool { self.outbox.isLarge }

    /// Whatever becomes of it, a part of the request may have gone from here on.
    func flush(on loop: GatewayLoop) {
        self.hasFlushed = true
        let isHead = self.outbox.holdsHead
        // It may come back here by the channel's end, so nothing of the loop is held meanwhile.
        guard var bytes = self.outbox.take() else {
            self.context?.flush()
            return
        }
        if self.direct?.send(&bytes) == true {
            if isHead { loop.requestHeads.keepWiped(consume bytes) }
            return
        }
        let isSecured = self.direct == nil
        self.direct?.usesChannel()
        if isHead { self.lentHead = bytes }
        self.context?.writeAndFlush(NIOAny(consume bytes), promise: nil)
        // TLS has made records of it, and has no use for it any more.
        if isSecured { self.takeBackHead(to: loop) }
    }

    /// The channel has sent it.
    func takeBackHead(to loop: GatewayLoop) {
        guard let bytes = self.lentHead.take() else { return }
        loop.requestHeads.keepWiped(consume bytes)
    }

    /// The channel has sent it, or is gone, and its memory is nobody's.
    private func wipeHead() {
        self.lentHead?.wipe()
        self.lentHead = nil
    }
}
