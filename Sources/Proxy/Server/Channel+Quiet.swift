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
