import NIOCore
import NIOPosix

/// The addresses for one connection, as NIO asks for them. One lookup answers both questions; the second one starts it.
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

    /// All that was found; empty where nothing was looked up.
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

/// Addresses that were looked up before.
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
