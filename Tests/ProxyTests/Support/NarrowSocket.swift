import NIOCore

#if canImport(Glibc)
    import Glibc
#endif

/// What a test asks of its sockets so that the kernel takes little at once from whoever sends there: a window of a few KiB,
/// and segments so small that the sender's own buffer does not grow over some tens of KiB either.
enum NarrowSocket {
    /// Of a socket before it is connected, or of one that listens.
    static let options: [(ChannelOptions.Types.SocketOption, ChannelOptions.Types.SocketOption.Value)] = [
        (.socketOption(.so_rcvbuf), 8 << 10), (.tcpOption(.init(rawValue: TCP_MAXSEG)), 536),
    ]
}
