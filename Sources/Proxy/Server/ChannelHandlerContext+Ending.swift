import NIOCore

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
