package import NIOCore

#if canImport(Glibc)
    import Glibc
#endif

/// A connection's short way out: its bytes go to the kernel by one system call while nothing waits in the channel ahead of
/// them. What the kernel does not take goes the channel's way, which waits for room, as does all that comes behind it.
///
/// The channel keeps a list of writes, with a promise and a count for each. There is one on it at a time here, which
/// leaves at once: to keep that list took a fifth of the gateway's own time for a request.
package struct SocketFastPath {
    private let channel: any Channel
    private let socket: NIOBSDSocket.Handle
    /// The channel was given something to write, and may have it still.
    private var isChannelInUse = false

    /// - Parameter channel: connected or about to be, and with no handler that changes what is written from here on.
    /// - Returns: `nil` where it has no socket.
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

    /// The channel is given something to write, now or with its next flush.
    package mutating func usesChannel() { self.isChannelInUse = true }

    /// Sends what the kernel takes of `bytes` now, and leaves the rest there for the channel; also when it refuses, since the
    /// channel tells of that. Call it on the channel's loop.
    ///
    /// - Returns: whether that was all.
    package mutating func send(_ bytes: inout ByteBuffer) -> Bool {
        // Whoever closes the channel does so on this loop and lets nobody run before it is inactive: the socket's number is
        // still this channel's.
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

/// ``SocketFastPath`` for a handler that changes what is written, such as TLS, which hands each piece on with a flush: to stand
/// between that one and the socket.
package final class SocketFastPathHandler: ChannelOutboundHandler {
    package typealias OutboundIn = ByteBuffer
    package typealias OutboundOut = ByteBuffer

    private var direct: SocketFastPath?
    /// What was written, until the flush.
    private var piece: ByteBuffer?

    package init() {}

    package func handlerAdded(context: ChannelHandlerContext) {
        self.direct = SocketFastPath(context.channel)
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        self.direct = nil
    }

    package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        // Of a piece whose writer wants to hear, the channel tells; and of several, it keeps the order.
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
