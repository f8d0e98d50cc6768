import HTTPWire
import NIOCore

/// Writes the requests of one upstream connection as HTTP/1 text. It decides how each body is framed, and when the
/// kernel gets the bytes. A head holds a token, so its memory is overwritten as soon as the head has been sent.
final class HTTP1RequestWriter {
    private var context: ChannelHandlerContext?
    /// The short way to the kernel; `nil` with TLS.
    private var direct: SocketFastPath?
    private var outbox = WriteCoalescer()
    private var encoder = BodyEncoder(.none)
    /// A head that was given to the channel, until the channel has released it.
    private var lentHead: ByteBuffer?
    var isWritable = true
    /// A part of the current request was handed to the kernel, whether or not the kernel took it.
    private(set) var hasFlushed = false
    /// The number of bytes that were written behind the current head.
    private(set) var behindHead = 0

    func added(to context: ChannelHandlerContext) { self.context = context }

    func removed() {
        self.clear()
        self.wipeHead()
        self.context = nil
        self.direct = nil
    }

    /// Takes the short way from here on: no handler changes what is written.
    func goesDirectly() { self.direct = (self.context?.channel).flatMap { SocketFastPath($0) } }

    /// Discards what waits for a flush.
    func clear() { self.outbox.clear() }
}

// MARK: - Requests

extension HTTP1RequestWriter {
    func begin(_ head: consuming AuthorizedHead, framing: BodyFraming) {
        self.encoder = BodyEncoder(framing)
        self.hasFlushed = false
        self.write(head.open(), isHead: true)
    }

    /// All of the request has been written, as its head announces it.
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

    /// What is written from here on is a tunnel's bytes, and no request.
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

    /// Hands the written bytes to the kernel. From here on a part of the request may have left, whatever happens.
    func flush(on loop: GatewayLoop) {
        self.hasFlushed = true
        let isHead = self.outbox.holdsHead
        // A flush may end the channel and so call this object again, so no access to the loop is open meanwhile.
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
        // TLS has made records of the head, and does not need its buffer any more.
        if isSecured { self.takeBackHead(to: loop) }
    }

    /// Takes back the head that the channel has sent, and overwrites it.
    func takeBackHead(to loop: GatewayLoop) {
        guard let bytes = self.lentHead.take() else { return }
        loop.requestHeads.keepWiped(consume bytes)
    }

    /// Overwrites a head that was given to the channel. The channel has sent it or is gone, so nothing else uses its
    /// memory.
    private func wipeHead() {
        self.lentHead?.wipe()
        self.lentHead = nil
    }
}
