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
    private var since: Tick
    private var heardAt: Tick
    package private(set) var isAnswerOut = false

    /// - Parameter time: how long it is heard once the response is out.
    package init(lingers: Bool, for time: Duration = Self.longestTime, since: Tick) {
        self.lingers = lingers
        self.time = time
        self.since = since
        self.heardAt = since
    }

    /// The caller has sent something more.
    package mutating func heard(at now: Tick) { self.heardAt = now }

    /// The kernel has all of the response.
    package mutating func answerIsOut(at now: Tick) {
        self.isAnswerOut = true
        self.since = now
        self.heardAt = now
    }

    /// Whether the connection must end now.
    ///
    /// - Parameter unread: how long a caller may leave the response unread.
    package func isOver(at now: Tick, unread: Duration) -> Bool {
        guard self.isAnswerOut else { return now.duration(since: self.since) > unread }
        return now.duration(since: self.since) > self.time || now.duration(since: self.heardAt) > Self.longestPause
    }
}
