/// How long a caller may take between requests; what it may take within one is the route's to say.
package struct CallerTimeouts: Sendable, Equatable {
    /// From a head's first byte to its last.
    package var head: Duration
    /// Without a request, and with an answer left unread behind which the connection ends.
    package var idle: Duration

    /// For TLS to be settled.
    package var handshake: Duration

    package init(
        head: Duration = .seconds(10),
        idle: Duration = .seconds(60),
        handshake: Duration = .seconds(10)
    ) {
        self.head = head
        self.idle = idle
        self.handshake = handshake
    }
}
