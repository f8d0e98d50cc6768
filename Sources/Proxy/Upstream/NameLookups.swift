import Dispatch
package import NIOCore
import NIOPosix
import Synchronization

#if canImport(Glibc)
    import Glibc
#endif

/// The system finds no address for a host.
package struct NameUnknown: Error {}

/// Looks up one host's addresses. Each connection needs a new lookup; all that wait for the next one to begin share it.
///
/// The system's lookup blocks, possibly for many seconds. So each origin has a queue of its own, and a dead name delays
/// no other upstream. While one lookup blocks, any number of connections share the next.
package final class NameLookups: Sendable {
    /// - Returns: the addresses, or `nil` where there are none.
    package typealias Ask = @Sendable (_ host: String, _ port: Int) -> [SocketAddress]?

    private struct State {
        /// The connections that wait for the lookup that has not begun.
        var waiting: [(number: UInt64, promise: EventLoopPromise<[SocketAddress]>)] = []
        /// That lookup is queued.
        var isOrdered = false
        var next: UInt64 = 0
    }

    private let host: String
    private let port: Int
    private let ask: Ask
    private let queue = DispatchQueue(label: "martlet.proxy.lookups")
    private let state = Mutex(State())

    /// - Parameter ask: looks up addresses, and may block.
    package init(host: String, port: Int, asking ask: @escaping Ask = NameLookups.system) {
        self.host = host
        self.port = port
        self.ask = ask
    }

    /// One connection's part in a lookup.
    package struct Search: Sendable {
        /// In the system's order of preference (RFC 6724); fails with ``NameUnknown``.
        package let addresses: EventLoopFuture<[SocketAddress]>
        /// Withdraws from the lookup. A lookup that nobody wants does not begin.
        package let cancel: @Sendable () -> Void
    }

    package func search(on eventLoop: any EventLoop) -> Search {
        let promise = eventLoop.makePromise(of: [SocketAddress].self)
        let (number, isFirst) = self.state.withLock { state in
            let number = state.next
            state.next &+= 1
            state.waiting.append((number, promise))
            defer { state.isOrdered = true }
            return (number, !state.isOrdered)
        }
        if isFirst { self.queue.async { self.run() } }
        return Search(addresses: promise.futureResult) { self.leave(number) }
    }

    private func leave(_ number: UInt64) {
        let left = self.state.withLock { state in
            state.waiting.firstIndex { $0.number == number }.map { state.waiting.remove(at: $0).promise }
        }
        left?.fail(NameUnknown())
    }

    private func run() {
        let promises = self.state.withLock { state in
            defer {
                state.waiting = []
                state.isOrdered = false
            }
            return state.waiting.map(\.promise)
        }
        guard !promises.isEmpty else { return }
        let found = self.ask(self.host, self.port)
        for promise in promises {
            if let found { promise.succeed(found) } else { promise.fail(NameUnknown()) }
        }
    }
}

extension NameLookups {
    /// - Returns: the addresses in the system's order of preference (RFC 6724), or `nil` where there are none.
    @Sendable package static func system(_ host: String, _ port: Int) -> [SocketAddress]? {
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

/// Answers NIO's address queries for one connection. Both queries share one lookup, which the AAAA query starts.
final class NameResolver: Resolver, Sendable {
    private let lookups: NameLookups
    private let eventLoop: any EventLoop
    private let search: NIOLoopBoundBox<NameLookups.Search?>
    private let addresses4: EventLoopPromise<[SocketAddress]>

    init(_ lookups: NameLookups, on eventLoop: any EventLoop) {
        self.lookups = lookups
        self.eventLoop = eventLoop
        self.search = .makeBoxSendingValue(nil, eventLoop: eventLoop)
        self.addresses4 = eventLoop.makePromise()
    }

    /// All addresses that were found; empty where no lookup was made.
    var addresses: EventLoopFuture<[SocketAddress]> {
        self.search.value?.addresses ?? self.eventLoop.makeSucceededFuture([])
    }

    func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        self.addresses4.futureResult
    }

    func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        let search = self.lookups.search(on: self.eventLoop)
        self.search.value = search
        let addresses6 = search.addresses.map { $0.filter { $0.protocol == .inet6 } }
        search.addresses.map { $0.filter { $0.protocol == .inet } }.cascade(to: self.addresses4)
        return addresses6
    }

    func cancelQueries() {
        self.search.value?.cancel()
    }
}

/// Answers NIO's address queries with addresses that were looked up before.
struct KnownAddresses: Resolver {
    let addresses: [SocketAddress]
    let eventLoop: any EventLoop

    func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        self.eventLoop.makeSucceededFuture(self.addresses.filter { $0.protocol == .inet })
    }

    func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        self.eventLoop.makeSucceededFuture(self.addresses.filter { $0.protocol == .inet6 })
    }

    func cancelQueries() {}
}
