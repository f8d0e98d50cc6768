/// How long a caller may take for its part; how long the other parts may take is the route's to say.
package struct CallerTimeouts: Sendable, Equatable {
    /// From a head's first byte to its last.
    package var head: Duration
    /// Without a request, and with an answer left unread behind which the connection ends.
    package var idle: Duration
    /// From a connection's beginning to the end of its TLS handshake.
    package var handshake: Duration
    /// Bytes per second that a body must come at, on the average and while it is wanted; 0 for any pace.
    package var bodyRate: Int
    /// For so long of its coming a body's pace does not matter.
    package var bodyGrace: Duration

    package init(
        head: Duration = .seconds(10),
        idle: Duration = .seconds(60),
        handshake: Duration = .seconds(10),
        bodyRate: Int = 1 << 10,
        bodyGrace: Duration = .seconds(10)
    ) {
        self.head = head
        self.idle = idle
        self.handshake = handshake
        self.bodyRate = bodyRate
        self.bodyGrace = bodyGrace
    }
}
