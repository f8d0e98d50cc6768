internal import Glibc
internal import Synchronization
internal import Testing

/// Ports of loopback for servers of tests.
package enum LoopbackPort {
    /// Below those that the system gives to connections (`ip_local_port_range`). A server that is stopped for a while finds
    /// such a port free when it starts again.
    private static let range: Range<UInt16> = 15_000..<32_768

    private static let given = Mutex<Set<UInt16>>([])

    /// Finds a port that nobody listens at, and that no other test gets. Another process may take it before it is used.
    package static func free() throws -> Int {
        let found = (0..<100).lazy.map { _ in UInt16.random(in: Self.range) }.first { port in
            Self.isFree(port) && Self.given.withLock { $0.insert(port).inserted }
        }
        return Int(try #require(found))
    }

    private static func isFree(_ port: UInt16) -> Bool {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(socket) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        // All addresses: a server may listen at several.
        address.sin_addr.s_addr = INADDR_ANY
        let count = socklen_t(MemoryLayout<sockaddr_in>.size)
        return unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe bind(socket, $0, count) == 0 }
        }
    }
}
