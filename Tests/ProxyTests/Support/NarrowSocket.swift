import NIOCore

#if canImport(Glibc)
    import Glibc
#endif

/// Socket options that make the kernel take little at once from a sender: a window of a few KiB, and segments so small
/// that the sender's own buffer does not grow beyond some tens of KiB either.
enum NarrowSocket {
    /// The options for a socket before it connects, or for one that listens.
    static let options: [(ChannelOptions.Types.SocketOption, ChannelOptions.Types.SocketOption.Value)] = [
        (.socketOption(.so_rcvbuf), 8 << 10), (.tcpOption(.init(rawValue: TCP_MAXSEG)), 536),
    ]
}
