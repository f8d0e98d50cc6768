import Dispatch
import NIOCore
import NIOPosix
import Synchronization

#if canImport(Glibc)
    import Glibc
#endif

/// The system knows no address of a host.
struct NameUnknown: Error {}

/// Looks a host's addresses up for one connection.
///
/// The system's lookup blocks, and may for many seconds, so each origin has a queue of its own: a dead name holds up no
/// other upstream.
final class NameResolver: Resolver, Sendable {
    private let queue: DispatchQueue
    private let addresses4: EventLoopPromise<[SocketAddress]>
    private let addresses6: EventLoopPromise<[SocketAddress]>
    private let isCancelled = Atomic(false)

    /// - Parameter queue: serial, and of nothing else but such lookups.
    init(on eventLoop: any EventLoop, queue: DispatchQueue) {
        self.queue = queue
        self.addresses4 = eventLoop.makePromise()
        self.addresses6 = eventLoop.makePromise()
    }

    /// One lookup answers both questions; the other one starts it.
    func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        self.addresses4.futureResult
    }

    func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        self.queue.async {
            // Those who gave up while an earlier lookup was blocked must not block the next.
            let found = self.isCancelled.load(ordering: .relaxed) ? nil : Self.lookUp(host, port)
            guard let found else {
                self.addresses4.fail(NameUnknown())
                return self.addresses6.fail(NameUnknown())
            }
            self.addresses6.succeed(found.filter { $0.protocol == .inet6 })
            self.addresses4.succeed(found.filter { $0.protocol == .inet })
        }
        return self.addresses6.futureResult
    }

    func cancelQueries() {
        self.isCancelled.store(true, ordering: .relaxed)
    }

    /// - Returns: the addresses in the system's order of preference (RFC 6724), or `nil` where there are none.
    private static func lookUp(_ host: String, _ port: Int) -> [SocketAddress]? {
        var hints = unsafe addrinfo()
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        unsafe hints.ai_protocol = Int32(IPPROTO_TCP)
        var list: UnsafeMutablePointer<addrinfo>?
        guard unsafe getaddrinfo(host, String(port), &hints, &list) == 0 else { return nil }
        defer { unsafe freeaddrinfo(list) }
        var found: [SocketAddress] = []
        var next = unsafe list
        while let entry = unsafe next {
            if let address = unsafe entry.pointee.ai_addr {
                switch unsafe entry.pointee.ai_family {
                case AF_INET:
                    // The family says what the address is (getaddrinfo(3)).
                    unsafe address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                        unsafe found.append(SocketAddress($0.pointee, host: host))
                    }
                case AF_INET6:
                    unsafe address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
                        unsafe found.append(SocketAddress($0.pointee, host: host))
                    }
                default: break
                }
            }
            unsafe next = entry.pointee.ai_next
        }
        return found.isEmpty ? nil : found
    }
}
