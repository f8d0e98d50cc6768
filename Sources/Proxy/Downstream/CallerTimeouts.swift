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

/// How long a request's body has been waited for: only that counts against the caller, not the time in which the upstream
/// takes nothing.
///
/// It is told by the sweep, so a request costs no clock for it.
package struct BodyPace: Sendable {
    private var sweeps = 0

    package init() {}

    /// A sweep has found that more of the body is wanted.
    package mutating func waited() { self.sweeps += 1 }

    /// The body comes slower than it must.
    ///
    /// - Parameter bytes: what has come of it.
    package func isTooSlow(_ bytes: Int, by timeouts: CallerTimeouts) -> Bool {
        let waited = CoarseTime.period * Double(self.sweeps)
        guard waited > timeouts.bodyGrace else { return false }
        return Double(bytes) < Double(timeouts.bodyRate) * (waited / .seconds(1))
    }
}

/// The end of a caller's connection: first the response must be out, then a caller that is still sending is heard out, so
/// that its bytes don't cost it the response (RFC 9112 §9.6). What it sends is thrown away.
package struct LingeringClose {
    /// How long a caller that goes on sending is heard, unless less is wanted.
    package static let longestTime = Duration.seconds(30)
    /// How long one is heard that sends nothing any more.
    package static let longestPause = Duration.seconds(5)

    /// The caller has not sent all of its request.
    package let lingers: Bool
    private let time: Duration
    private var since: CoarseTime
    private var heardAt: CoarseTime
    package private(set) var isAnswerOut = false

    /// - Parameter time: how long it is heard once the response is out.
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
        self.isAnswerOut = true
        self.since = now
        self.heardAt = now
    }

    /// Whether the connection must end now.
    ///
    /// - Parameter unread: how long a caller may leave the response unread.
    package func isOver(at now: CoarseTime, unread: Duration) -> Bool {
        guard self.isAnswerOut else { return now.duration(since: self.since) > unread }
        return now.duration(since: self.since) > self.time || now.duration(since: self.heardAt) > Self.longestPause
    }
}
