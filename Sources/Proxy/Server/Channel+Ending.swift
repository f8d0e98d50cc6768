import NIOCore

#if canImport(Glibc)
    import Glibc
#endif

extension Channel {
    /// The other side has not ended, and nothing that it has sent waits to be read. Costs a system call.
    var isQuiet: Bool {
        let peeked = try? self.pipeline.syncOperations.withUnsafeTransportIfAvailable(
            of: NIOBSDSocket.Handle.self
        ) { socket in
            var byte: UInt8 = 0
            let count = unsafe recv(socket, &byte, 1, CInt(MSG_PEEK) | CInt(MSG_DONTWAIT))
            return count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)
        }
        return peeked == true
    }
}

extension Channel {
    /// From here on its close is a reset, so that what was sent can't be taken for whole.
    func resetOnClose() {
        guard let socket = self as? any SocketOptionProvider else { return }
        _ = socket.setSoLinger(linger(l_onoff: 1, l_linger: 0))
    }
}

extension ChannelHandlerContext {
    /// Ends the connection's output behind what was written, and goes on hearing the other side.
    ///
    /// TLS would take the other side's farewell for the end of both sides if its own was said before, and throw away
    /// what the kernel has not taken; so the end waits for that.
    func endOutputWhenWritten() {
        let written = self.eventLoop.makePromise(of: Void.self)
        self.writeAndFlush(NIOAny(ByteBuffer()), promise: written)
        written.futureResult.assumeIsolated().whenComplete { _ in
            self.close(mode: .output, promise: nil)
        }
    }
}
