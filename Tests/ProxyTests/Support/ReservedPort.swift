#if canImport(Glibc)
    import Glibc
#endif

/// A port of this machine where connections are refused, and that nobody else gets.
final class ReservedPort: Sendable {
    let number: Int
    private let socket: CInt

    init() throws {
        self.socket = Glibc.socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        var address = Self.address(0)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let socket = self.socket
        let result = unsafe withUnsafeMutablePointer(to: &address) { address in
            unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe bind(socket, address, size) == 0 && getsockname(socket, address, &size) == 0
            }
        }
        guard result else { throw WrongBytes("no port to be had") }
        self.number = Int(UInt16(bigEndian: address.sin_port))
    }

    private static func address(_ port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        address.sin_port = UInt16(port).bigEndian
        return address
    }

    /// From here on connections are neither refused nor taken: the kernel lets them wait.
    ///
    /// - Returns: connections to keep until the test is over; they take all places that the kernel has.
    func stall() throws -> [CInt] {
        guard listen(self.socket, 0) == 0 else { throw WrongBytes("it does not listen") }
        return (0..<4).map { _ in
            let filler = Glibc.socket(AF_INET, CInt(SOCK_STREAM.rawValue) | O_NONBLOCK, 0)
            var address = Self.address(self.number)
            unsafe withUnsafeMutablePointer(to: &address) { address in
                unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                    _ = unsafe connect(filler, address, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            return filler
        }
    }

    /// The bound socket; whoever takes it closes it.
    func give() -> CInt { self.socket }
}
