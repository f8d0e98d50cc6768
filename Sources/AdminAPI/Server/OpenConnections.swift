internal import Listening
internal import Logging
internal import NIOCore
internal import Synchronization
internal import TokenModel

/// The connections that a listener has accepted: which of them keep their places, and that a stop reaches all of them.
final class OpenConnections: Sendable {
    private enum Phase {
        case serving
        case stopping
        /// The event loop may be gone: nothing is said to it any more.
        case ended
    }

    private struct State {
        var phase = Phase.serving
        var connections: [ObjectIdentifier: any Channel] = [:]
        /// `nil` where whoever can connect may have as many as they like.
        var book: ConnectionRegistry<ObjectIdentifier>?
        /// When it was said last that places are short.
        var saidAt = BootInstant.distantPast
    }

    private let state: Mutex<State>
    private let logger: Logger

    /// - Parameter places: `nil` for any number.
    init(_ places: ConnectionRegistry<ObjectIdentifier>.Places?, logger: Logger) {
        self.state = Mutex(State(book: places.map { ConnectionRegistry($0) }))
        self.logger = logger
    }

    /// A connection was made: it gets a place, or is closed. On its event loop, when it is active.
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

    /// The head of a request has come. Who shows a right token keeps the place from this moment on.
    func asked(_ connection: any Channel, showing: ConnectionRegistry<ObjectIdentifier>.Showing) {
        self.state.withLock { $0.book?.ask(ObjectIdentifier(connection), showing: showing) }
    }

    /// Its request showed a token, or what stands for one: it keeps its place.
    func recognized(_ connection: any Channel) {
        self.state.withLock { $0.book?.recognize(ObjectIdentifier(connection)) }
    }

    /// Its request is answered.
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

    /// Closes the connections without a request, and the others when theirs is answered.
    func stop() {
        self.state.withLock { state in
            guard state.phase == .serving else { return }
            state.phase = .stopping
            // Only puts something into the event loop's queue, so the lock is not held for long.
            for connection in state.connections.values { Self.quiesce(connection) }
        }
    }

    /// To be called before the event loop is shut down.
    func end() {
        self.state.withLock { $0.phase = .ended }
    }

    /// Whoever makes connections without end must not fill the log.
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
            all places of a listener for operators are taken, so that connections without an admin token, or that are \
            idle, are closed for new ones: does somebody hold connections open?
            """
        )
    }

    private static func quiesce(_ connection: any Channel) {
        connection.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
    }
}
