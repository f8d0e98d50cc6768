internal import NIOCore
internal import Synchronization

/// The connections that a listener has accepted, so that a stop reaches all of them.
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
    }

    private let state = Mutex(State())

    func opened(_ connection: any Channel) {
        self.state.withLock { state in
            state.connections[ObjectIdentifier(connection)] = connection
            if state.phase == .stopping { Self.quiesce(connection) }
        }
    }

    func closed(_ connection: any Channel) {
        self.state.withLock { _ = $0.connections.removeValue(forKey: ObjectIdentifier(connection)) }
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

    private static func quiesce(_ connection: any Channel) {
        connection.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
    }
}
