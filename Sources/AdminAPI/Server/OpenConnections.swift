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
        /// When a shortage of places was last logged.
        var saidAt = BootInstant.distantPast
    }

    private let state = Mutex(State())
    private let places: ConnectionPlaces
    private let logger: Logger

    /// - Parameter limit: how many there may be.
    init(_ limit: Int, logger: Logger) {
        self.places = ConnectionPlaces(limit)
        self.logger = logger
    }

    /// Gives a new connection a place, or closes it. Must be called on its event loop when it becomes active.
    func opened(_ connection: any Channel) {
        let arrival = self.places.arrive(connection)
        if arrival != .admitted { self.reportShortage() }
        if arrival == .turnedAway {
            connection.close(promise: nil)
        } else if self.state.withLock({ $0.phase == .stopping }) {
            Self.quiesce(connection)
        }
    }

    /// Notes that the head of a request has arrived. A connection that shows a token keeps its place from now on.
    func asked(_ connection: any Channel, showsToken: Bool) {
        if showsToken { self.places.recognize(connection) } else { self.places.wake(connection) }
    }

    /// Notes that a request was authenticated, so that its connection keeps its place.
    func recognized(_ connection: any Channel) { self.places.recognize(connection) }

    /// Notes that the connection's request has its response.
    func answered(_ connection: any Channel) { self.places.rest(connection) }

    func closed(_ connection: any Channel) { self.places.leave(connection) }

    /// Closes the connections without a request at once, and the others after their response.
    func stop() {
        self.state.withLock { state in
            guard state.phase == .serving else { return }
            state.phase = .stopping
            // This only adds to the event loop's queue, so the lock is not held for long.
            for connection in self.places.connections { Self.quiesce(connection) }
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
