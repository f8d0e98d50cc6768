import NIOCore

#if canImport(Glibc)
    import Glibc
#endif

/// A port of this machine that refuses connections, and that nobody else gets.
final class ReservedPort: Sendable {
    let number: Int
    private let socket: CInt

    init() throws {
        let socket = Glibc.socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        self.socket = socket
        let bound = unsafe try Self.address(0).withSockAddr { unsafe bind(socket, $0, socklen_t($1)) }
        var name = [UInt8](repeating: 0, count: 16)
        var size = socklen_t(name.count)
        let named = unsafe name.withUnsafeMutableBytes { bytes in
            unsafe bytes.withMemoryRebound(to: sockaddr.self) { unsafe getsockname(socket, $0.baseAddress, &size) }
        }
        guard bound == 0, named == 0 else { throw WrongBytes("no port to be had") }
        // The port stands at the place that ip(7) documents. The fields of the system's type belong to another module
        // if that module was read before.
        self.number = Int(name[2]) << 8 | Int(name[3])
    }

    private static func address(_ port: Int) throws -> SocketAddress {
        try SocketAddress(ipAddress: "127.0.0.1", port: port)
    }

    /// Leaves later connections waiting in the kernel, neither refused nor accepted.
    ///
    /// - Returns: connections to keep until the test is over. They take all places that the kernel has.
    func stall() throws -> [CInt] {
        guard listen(self.socket, 0) == 0 else { throw WrongBytes("it does not listen") }
        let address = try Self.address(self.number)
        return (0..<4).map { _ in
            let filler = Glibc.socket(AF_INET, CInt(SOCK_STREAM.rawValue) | O_NONBLOCK, 0)
            _ = unsafe address.withSockAddr { unsafe connect(filler, $0, socklen_t($1)) }
            return filler
        }
    }

    /// The bound socket. The code that takes it must close it.
    func give() -> CInt { self.socket }
}
