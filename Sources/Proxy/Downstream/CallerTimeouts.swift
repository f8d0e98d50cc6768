/// How long a caller may take for its part of a request. The route limits the other parts.
package struct CallerTimeouts: Sendable, Equatable {
    /// From a head's first byte to its last.
    package var head: Duration
    /// Without a request; also with a response left unread after which the connection ends.
    package var idle: Duration
    /// From a connection's beginning to the end of its TLS handshake.
    package var handshake: Duration
    /// Bytes per second at which a body must arrive, on average over the time in which it is wanted; 0 for any pace.
    package var bodyRate: Int
    /// How long a body may be waited for before its pace matters.
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

/// Measures how long a request's body has been waited for. Only this time counts against the caller, not the time in
/// which the upstream takes nothing.
///
/// The sweep counts it, so a request needs no clock for it.
package struct BodyPace: Sendable {
    private var sweeps = 0

    package init() {}

    /// A sweep has found that more of the body is wanted.
    package mutating func waited() { self.sweeps += 1 }

    /// Whether the body arrives slower than it must.
    ///
    /// - Parameter bytes: how much of it has arrived.
    package func isTooSlow(_ bytes: Int, by timeouts: CallerTimeouts) -> Bool {
        let waited = CoarseTime.period * Double(self.sweeps)
        guard waited > timeouts.bodyGrace else { return false }
        return Double(bytes) < Double(timeouts.bodyRate) * (waited / .seconds(1))
    }
}

/// The end of a caller's connection. First the response must be out. Then the gateway keeps reading from a caller that
/// still sends, so that its unread bytes don't cost it the response (RFC 9112 §9.6). What it sends is discarded.
package struct LingeringClose {
    /// How long the gateway reads from a caller that keeps sending, unless less is asked for.
    package static let longestTime = Duration.seconds(30)
    /// How long the gateway waits for more bytes from a caller that has stopped sending.
    package static let longestPause = Duration.seconds(5)

    /// The caller may still send, so the gateway keeps reading after the response.
    package let lingers: Bool
    private let time: Duration
    private var since: CoarseTime
    private var heardAt: CoarseTime
    package private(set) var isResponseOut = false

    /// - Parameter time: how long the gateway keeps reading once the response is out.
    package init(lingers: Bool, for time: Duration = Self.longestTime, since: CoarseTime) {
        self.lingers = lingers
        self.time = time
        self.since = since
        self.heardAt = since
    }

    /// The caller has sent something more.
    package mutating func heard(at now: CoarseTime) { self.heardAt = now }

    /// The kernel has all of the response.
    package mutating func answerIsOut(at now: CoarseTime) {
        self.isResponseOut = true
        self.since = now
        self.heardAt = now
    }

    /// Whether the connection must end now.
    ///
    /// - Parameter unread: how long a caller may leave the response unread.
    package func isOver(at now: CoarseTime, unread: Duration) -> Bool {
        guard self.isResponseOut else { return now.duration(since: self.since) > unread }
        return now.duration(since: self.since) > self.time || now.duration(since: self.heardAt) > Self.longestPause
    }
}
