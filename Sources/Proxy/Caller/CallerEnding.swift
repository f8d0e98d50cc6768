/// The end of a caller's connection: first the answer must be out, then a caller that is still sending is heard out, so
/// that its bytes don't cost it the answer (RFC 9112 §9.6).
package struct CallerEnding {
    /// What is thrown away of what the caller still sends, in bytes.
    package static let limit = 1 << 20
    /// How long after the answer that goes on.
    package static let time = Duration.seconds(2)

    /// The caller has not sent all of its request.
    package let lingers: Bool
    private var left = Self.limit
    private var since: Tick
    package private(set) var isAnswerOut = false

    package init(lingers: Bool, since: Tick) {
        self.lingers = lingers
        self.since = since
    }

    /// Counts bytes that are thrown away.
    ///
    /// - Returns: whether they are too many.
    package mutating func takes(_ count: Int) -> Bool {
        self.left -= count
        return self.left < 0
    }

    /// The kernel has all of the answer.
    package mutating func answerIsOut(at now: Tick) {
        self.isAnswerOut = true
        self.since = now
    }

    /// Whether the connection must end now.
    ///
    /// - Parameter unread: how long a caller may leave the answer unread.
    package func isOver(at now: Tick, unread: Duration) -> Bool {
        now.duration(since: self.since) > (self.isAnswerOut ? Self.time : unread)
    }
}
