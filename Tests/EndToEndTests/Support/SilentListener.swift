import Glibc
import Testing

/// A TCP port where the kernel accepts connections and no program responds.
final class SilentListener: Sendable {
    let port: UInt16
    private let socket: CInt

    init() throws {
        let socket = Glibc.socket(AF_INET, CInt(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = unsafe withUnsafeMutablePointer(to: &address) { address in
            unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe bind(socket, address, length) == 0 && listen(socket, 16) == 0
                    && getsockname(socket, address, &length) == 0
            }
        }
        self.socket = socket
        self.port = UInt16(bigEndian: address.sin_port)
        try #require(isListening)
    }

    /// Whether a connection waits to be accepted.
    var hasConnection: Bool {
        var look = pollfd(fd: self.socket, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&look, 1, 0) == 1
    }

    deinit { close(self.socket) }
}
