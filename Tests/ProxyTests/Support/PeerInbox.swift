import NIOCore

/// Collects what comes over a test's connection. It reads only while a test waits.
final class PeerInbox: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias Taken = (bytes: ByteBuffer, ending: Peer.Ending?)

    /// A test that waits for `length` to return a number of bytes; `nil` waits for all bytes up to the end.
    private struct Waiter {
        let what: String
        let length: ((ByteBufferView) -> Int?)?
        let promise: EventLoopPromise<Taken>
        let timeout: Scheduled<Void>
    }

    private let eventLoop: any EventLoop
    private var context: ChannelHandlerContext?
    private var buffer = ByteBuffer()
    private var ending: Peer.Ending?
    /// Whether this side has ended.
    private var hasFinished = false
    private var waiter: Waiter?

    init(eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        self.ended(.reset)
    }

    func channelActive(context: ChannelHandlerContext) {
        // A read that was asked for before the channel became active had no effect.
        if self.waiter != nil { context.read() }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.buffer.writeImmutableBuffer(self.unwrapInboundIn(data))
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        self.serve()
        if self.waiter != nil { context.read() }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event as? ChannelEvent {
        case .inputClosed: self.ended(.clean)
        case .outputClosed: self.hasFinished = true
        case nil: break
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.ended(.reset)
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        // When this side has ended too, the other side's end closes the connection at once.
        self.ended(self.hasFinished ? .clean : .reset)
    }

    private func ended(_ ending: Peer.Ending) {
        if self.ending == nil { self.ending = ending }
        self.serve()
    }

    /// - Parameter length: returns how many of all the bytes so far to take; `nil` waits for the end.
    func take(_ what: String, _ length: ((ByteBufferView) -> Int?)?) -> EventLoopFuture<Taken> {
        let promise = self.eventLoop.makePromise(of: Taken.self)
        let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
        let timeout = self.eventLoop.scheduleTask(in: .init(patience)) { bound.value.timedOut() }
        self.waiter = Waiter(what: what, length: length, promise: promise, timeout: timeout)
        self.serve()
        if self.waiter != nil { self.context?.read() }
        return promise.futureResult
    }

    private func serve() {
        guard let waiter = self.waiter else { return }
        let count =
            if let length = waiter.length { length(self.buffer.readableBytesView) } else {
                self.ending == nil ? nil : self.buffer.readableBytes
            }
        if let count, let bytes = self.buffer.readSlice(length: count) {
            self.finish(waiter, .success((bytes, self.ending)))
        } else if let ending = self.ending {
            self.finish(waiter, .failure(WrongBytes("\(ending) end, and no \(waiter.what): \(self.excerpt)")))
        }
    }

    private func timedOut() {
        guard let waiter = self.waiter else { return }
        self.finish(waiter, .failure(TimedOut(description: "no \(waiter.what) in time: \(self.excerpt)")))
    }

    private func finish(_ waiter: Waiter, _ result: Result<Taken, any Error>) {
        self.waiter = nil
        waiter.timeout.cancel()
        waiter.promise.completeWith(result)
    }

    private var excerpt: String {
        String(
            buffer: self.buffer.getSlice(at: self.buffer.readerIndex, length: min(400, self.buffer.readableBytes))
                ?? ByteBuffer()
        )
    }
}
