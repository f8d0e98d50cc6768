internal import Logging
internal import NIOCore
internal import Synchronization
internal import SystemSupport
internal import TokenModel

/// The connections that a listener has accepted. It decides which of them keep their places, and a stop reaches all of
/// them.
final class OpenConnections: Sendable {
    private enum Phase {
        case serving
        case stopping
        /// The event loop may have shut down, so it is not called any more.
        case ended
    }

    private struct State {
        var phase = Phase.serving
        var connections: [ObjectIdentifier: any Channel] = [:]
        /// `nil` if a peer may open any number of connections.
        var book: ConnectionRegistry<ObjectIdentifier>?
        /// When a shortage of places was last logged.
        var saidAt = BootInstant.distantPast
    }

    private let state: Mutex<State>
    private let logger: Logger

    /// - Parameter places: `nil` for any number of connections.
    init(_ places: ConnectionRegistry<ObjectIdentifier>.Places?, logger: Logger) {
        self.state = Mutex(State(book: places.map { ConnectionRegistry($0) }))
        self.logger = logger
    }

    /// Gives a new connection a place, or closes it. Must be called on its event loop when it becomes active.
    func opened(_ connection: any Channel) {
        let id = ObjectIdentifier(connection)
        let network = connection.remoteAddress.flatMap { PeerNetwork($0) }
        let (arrival, leaving, isStopping) = self.state.withLock { state in
            let arrival = state.book?.arrive(id, from: network) ?? .admitted
            var leaving: (any Channel)?
            if case .admittedInPlace(of: let other) = arrival { leaving = state.connections.removeValue(forKey: other) }
            if arrival != .turnedAway { state.connections[id] = connection }
            return (arrival, leaving, state.phase == .stopping)
        }
        if arrival != .admitted { self.reportShortage() }
        leaving?.close(promise: nil)
        if arrival == .turnedAway {
            connection.close(promise: nil)
        } else if isStopping {
            Self.quiesce(connection)
        }
    }

    /// Records that the head of a request has arrived. A connection that shows a right token keeps its place from now
    /// on.
    func asked(_ connection: any Channel, showing: ConnectionRegistry<ObjectIdentifier>.Showing) {
        self.state.withLock { $0.book?.ask(ObjectIdentifier(connection), showing: showing) }
    }

    /// Records that a request was authenticated, so that its connection keeps its place.
    func recognized(_ connection: any Channel) {
        self.state.withLock { $0.book?.recognize(ObjectIdentifier(connection)) }
    }

    /// Records that the connection's request has its response.
    func answered(_ connection: any Channel) {
        self.state.withLock { $0.book?.respond(ObjectIdentifier(connection)) }
    }

    func closed(_ connection: any Channel) {
        self.state.withLock { state in
            let id = ObjectIdentifier(connection)
            state.connections[id] = nil
            state.book?.leave(id)
        }
    }

    /// Closes the connections without a request at once, and the others after their response.
    func stop() {
        self.state.withLock { state in
            guard state.phase == .serving else { return }
            state.phase = .stopping
            // This only adds to the event loop's queue, so the lock is not held for long.
            for connection in state.connections.values { Self.quiesce(connection) }
        }
    }

    /// Must be called before the event loop is shut down.
    func end() {
        self.state.withLock { $0.phase = .ended }
    }

    /// Logs a shortage of places at most once a minute: endless connections must not fill the log.
    private func reportShortage() {
        let now = BootInstant.now
        let isNews = self.state.withLock { state in
            guard state.saidAt.duration(to: now) >= .seconds(60) else { return false }
            state.saidAt = now
            return true
        }
        guard isNews else { return }
        self.logger.warning(
            """
            all places of a listener are taken, so that connections without an admin token or a sign-in, or that are \
            idle, are closed for new ones: does somebody hold connections open?
            """
        )
    }

    private static func quiesce(_ connection: any Channel) {
        connection.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
    }
}
