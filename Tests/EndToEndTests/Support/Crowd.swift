import Glibc
import Synchronization
import Testing

/// Many connections to one gateway. They send and read only when a test tells them to.
final class Crowd: Sendable {
    private let sockets: [CInt]
    /// How many bytes of the current piece each connection has taken from ``pour(_:)``.
    private let offsets: Mutex<[Int]>

    /// - Parameters:
    ///     - address: the URL of a port on this machine.
    ///     - receiveBuffer: the size of the kernel's receive buffer in bytes; `nil` leaves it to the kernel.
    init(_ count: Int, to address: String, receiveBuffer: CInt? = nil) throws {
        let port = try #require(address.split(separator: ":").last.flatMap { UInt16($0) })
        var sockets: [CInt] = []
        for _ in 0..<count { sockets.append(try Self.connect(to: port, receiveBuffer)) }
        self.sockets = sockets
        self.offsets = Mutex(Array(repeating: 0, count: count))
    }

    deinit { for socket in self.sockets { close(socket) } }

    /// Shuts down all connections.
    func leave() {
        for socket in self.sockets { shutdown(socket, CInt(SHUT_RDWR)) }
    }

    private static func connect(to port: UInt16, _ receiveBuffer: CInt?) throws -> CInt {
        let socket = Glibc.socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        try #require(socket >= 0, "no descriptor for another connection")
        if var receiveBuffer {
            let size = socklen_t(MemoryLayout<CInt>.size)
            _ = unsafe setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, size)
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        address.sin_port = port.bigEndian
        let result = unsafe withUnsafeMutablePointer(to: &address) { address in
            unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe Glibc.connect(socket, address, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        try #require(result == 0, "no connection: error \(errno)")
        _ = fcntl(socket, F_SETFL, O_NONBLOCK)
        return socket
    }

    /// Sends `text` on each connection, as far as the kernel takes it without blocking.
    ///
    /// - Returns: the number of bytes sent, summed over all connections.
    @discardableResult
    func send(_ text: String) -> Int {
        let bytes = Array(text.utf8)[...]
        return self.sockets.reduce(0) { $0 + Self.send(bytes, on: $1) }
    }

    /// Sends `text` on each connection repeatedly. If a connection takes only a part of it, the next call continues
    /// with the rest.
    func pour(_ text: String) -> Int {
        let bytes = Array(text.utf8)
        return self.offsets.withLock { offsets in
            var sum = 0
            for (index, socket) in self.sockets.enumerated() {
                let sent = Self.send(bytes[offsets[index]...], on: socket)
                offsets[index] = (offsets[index] + sent) % bytes.count
                sum += sent
            }
            return sum
        }
    }

    private static func send(_ bytes: ArraySlice<UInt8>, on socket: CInt) -> Int {
        let sent = unsafe bytes.withUnsafeBytes {
            unsafe Glibc.send(socket, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
        }
        return max(sent, 0)
    }

    /// The first bytes that each connection has received; they stay in the receive buffer. An element is `nil` if its
    /// connection has ended without data, and empty if no data has arrived yet.
    func peek() -> [String?] {
        var piece = [UInt8](repeating: 0, count: 64)
        return self.sockets.map { socket in
            let count = unsafe piece.withUnsafeMutableBytes {
                unsafe recv(socket, $0.baseAddress, $0.count, CInt(MSG_PEEK))
            }
            guard count != 0, count > 0 || errno == EAGAIN else { return nil }
            return String(decoding: piece.prefix(max(count, 0)), as: UTF8.self)
        }
    }
}
