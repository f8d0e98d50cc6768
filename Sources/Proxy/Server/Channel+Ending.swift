import NIOCore

#if canImport(Glibc)
    import Glibc
#endif

extension Channel {
    /// Whether the peer has not ended its side, and nothing that it has sent waits to be read. Costs a system call.
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
    /// Makes the connection's close a reset, so that the bytes sent can't be taken for a whole message.
    func resetOnClose() {
        guard let socket = self as? any SocketOptionProvider else { return }
        _ = socket.setSoLinger(linger(l_onoff: 1, l_linger: 0))
    }
}

extension ChannelHandlerContext {
    /// Ends the connection's output after the bytes already written, and keeps reading from the peer.
    ///
    /// TLS would take the peer's close_notify for the end of both sides if its own was sent before, and would discard
    /// what the kernel has not taken. So the output ends only when the kernel has taken everything.
    func endOutputWhenWritten() {
        let written = self.eventLoop.makePromise(of: Void.self)
        self.writeAndFlush(NIOAny(ByteBuffer()), promise: written)
        written.futureResult.assumeIsolated().whenComplete { _ in
            self.close(mode: .output, promise: nil)
        }
    }
}
