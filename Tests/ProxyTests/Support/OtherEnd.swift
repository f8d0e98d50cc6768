#if canImport(Glibc)
    import Glibc
#endif

/// The gateway's socket of a connection to a test's peer. The gateway runs in this process, so a test can ask the
/// kernel about that socket as long as the gateway keeps it open, even while the gateway's event loop is stalled.
struct OtherEnd {
    private let socket: CInt

    /// - Returns: `nil` if this process has no such socket.
    init?(of peer: Peer) {
        guard let ports = peer.ports else { return nil }
        // The kernel hands out the lowest numbers first.
        let socket = (0..<65_536 as Range<CInt>).first { number in
            unsafe (Self.port(number, getsockname) == ports.other && Self.port(number, getpeername) == ports.own)
        }
        guard let socket else { return nil }
        self.socket = socket
    }

    /// Whether bytes, an end or a reset can be read. They stay unread.
    var isReadable: Bool {
        var asked = pollfd(fd: self.socket, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&asked, 1, 0) > 0
    }

    private typealias Naming = (CInt, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> CInt

    /// - Returns: `nil` for anything but an IPv4 socket.
    private static func port(_ socket: CInt, _ naming: Naming) -> Int? {
        // A sockaddr_in as bytes: the family in the byte order of the machine, the port in that of the network.
        var name = [UInt8](repeating: 0, count: 128)
        var count = socklen_t(name.count)
        let isNamed = unsafe name.withUnsafeMutableBytes { bytes in
            guard let address = unsafe bytes.bindMemory(to: sockaddr.self).baseAddress else { return false }
            return unsafe naming(socket, address, &count) == 0
        }
        guard isNamed, Int(name[0]) | Int(name[1]) << 8 == Int(AF_INET) else { return nil }
        return Int(name[2]) << 8 | Int(name[3])
    }
}
