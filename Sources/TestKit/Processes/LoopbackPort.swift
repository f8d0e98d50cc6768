internal import Glibc
internal import Testing

/// Ports of loopback for servers of tests.
package enum LoopbackPort {
    /// Finds a port. Another process may take it before it is used.
    package static func free() throws -> Int {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(socket) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        var count = socklen_t(MemoryLayout<sockaddr_in>.size)
        try unsafe withUnsafeMutablePointer(to: &address) { pointer in
            try unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { raw in
                try #require(unsafe bind(socket, raw, count) == 0)
                try #require(unsafe getsockname(socket, raw, &count) == 0)
            }
        }
        return Int(in_port_t(bigEndian: address.sin_port))
    }
}
