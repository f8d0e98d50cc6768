import NIOCore

/// A connection that is being made for a request, with all that is tried for it: one after the other address of its name,
/// each a socket of its own.
final class UpstreamDial {
    let place: UpstreamPool.Place
    /// Of the pool's certificates, as it began.
    let edition: Int
    private let limit: SharedLimit
    private var tries: [(channel: any Channel, socket: CountedSocket)] = []
    private(set) var isGivenUp = false

    /// - Parameter limit: counts its sockets.
    init(for place: UpstreamPool.Place, edition: Int, counting limit: SharedLimit) {
        self.place = place
        self.edition = edition
        self.limit = limit
    }

    /// Another socket is made.
    func begin(_ channel: any Channel) {
        let socket = CountedSocket(self.limit)
        channel.closeFuture.assumeIsolated().whenComplete { _ in socket.leave() }
        self.tries.append((channel, socket))
    }

    /// What counts the socket that came of it.
    func socket(of channel: any Channel) -> CountedSocket? {
        self.tries.first { $0.channel === channel }?.socket
    }

    /// Ends what is tried; the dial fails then.
    func giveUp() {
        self.isGivenUp = true
        let tries = self.tries
        self.tries = []
        for (channel, socket) in tries {
            socket.leave()
            channel.close(promise: nil)
        }
    }
}

/// One socket to an upstream: it counts until it is gone, or is about to be, so that nobody makes room for what has just
/// got it.
final class CountedSocket {
    private let limit: SharedLimit
    private var isCounted = true

    init(_ limit: SharedLimit) {
        self.limit = limit
        limit.take()
    }

    func leave() {
        guard self.isCounted else { return }
        self.isCounted = false
        self.limit.leave()
    }
}
