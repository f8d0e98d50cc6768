package import NIOCore

#if canImport(Glibc)
    import Glibc
#endif

/// A fast path for a connection's output: one system call hands bytes to the kernel while nothing waits in the channel
/// ahead of them. Bytes that the kernel does not take go through the channel, which waits for room, and so do all bytes
/// behind them.
///
/// The channel keeps a list of writes, with a promise and a count for each. With the fast path at most one write is in
/// it at a time, and leaves it at once: maintaining that list took a fifth of the gateway's own time for a request.
package struct SocketFastPath {
    private let channel: any Channel
    private let socket: NIOBSDSocket.Handle
    /// The channel was given bytes to write, and may still hold some.
    private var isChannelInUse = false

    /// - Parameter channel: connected or about to be, with no handler between here and the socket that changes what is
    ///   written.
    /// - Returns: `nil` where the channel has no socket.
    package init?(_ channel: any Channel) {
        let operations = channel.pipeline.syncOperations
        guard
            let socket = try? operations.withUnsafeTransportIfAvailable(
                of: NIOBSDSocket.Handle.self,
                { socket in socket }
            )
        else { return nil }
        self.channel = channel
        self.socket = socket
    }

    /// The channel gets bytes to write, now or with its next flush.
    package mutating func usesChannel() { self.isChannelInUse = true }

    /// Sends what the kernel takes of `bytes` now, and leaves the rest in `bytes` for the channel. An error leaves all
    /// of them, since the channel reports it. Call it on the channel's loop.
    ///
    /// - Returns: whether all bytes were sent.
    package mutating func send(_ bytes: inout ByteBuffer) -> Bool {
        // The channel is closed on this loop, and nothing else runs there until it is inactive: the descriptor still
        // belongs to this channel.
        guard self.channel.isActive, self.isChannelEmpty else { return false }
        let sent = unsafe bytes.withUnsafeReadableBytes { bytes in
            unsafe Glibc.send(self.socket, bytes.baseAddress, bytes.count, CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL))
        }
        if sent > 0 { bytes.moveReaderIndex(forwardBy: sent) }
        return bytes.readableBytes == 0
    }

    private var isChannelEmpty: Bool {
        mutating get {
            guard self.isChannelInUse else { return true }
            let waiting = try? self.channel.syncOptions?.getOption(.bufferedWritableBytes)
            self.isChannelInUse = waiting != 0
            return !self.isChannelInUse
        }
    }
}

/// ``SocketFastPath`` behind a handler that changes what is written, such as TLS, and that flushes after each piece.
/// Add this handler between that one and the socket.
package final class SocketFastPathHandler: ChannelOutboundHandler {
    package typealias OutboundIn = ByteBuffer
    package typealias OutboundOut = ByteBuffer

    private var direct: SocketFastPath?
    /// The piece written since the last flush.
    private var piece: ByteBuffer?

    package init() {}

    package func handlerAdded(context: ChannelHandlerContext) {
        self.direct = SocketFastPath(context.channel)
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        self.direct = nil
    }

    package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        // The channel completes the promise of a write, and keeps the order of several pieces.
        guard promise == nil, self.piece == nil, self.direct != nil else {
            self.handOver(context)
            self.direct?.usesChannel()
            return context.write(data, promise: promise)
        }
        self.piece = self.unwrapOutboundIn(data)
    }

    package func flush(context: ChannelHandlerContext) {
        if var piece = self.piece {
            self.piece = nil
            if self.direct?.send(&piece) == true { return }
            self.piece = piece
            self.handOver(context)
        }
        context.flush()
    }

    private func handOver(_ context: ChannelHandlerContext) {
        guard let piece = self.piece else { return }
        self.piece = nil
        self.direct?.usesChannel()
        context.write(self.wrapOutboundOut(piece), promise: nil)
    }
}
