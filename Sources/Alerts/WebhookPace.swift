/// How much a webhook may take upon itself.
package struct WebhookPace: Sendable {
    /// Alerts that wait, at the most; one for which there is no room is dropped.
    package var room: Int
    /// An alert that could not be delivered for so long is dropped.
    package var longestAge: Duration
    /// Of one request, from its beginning to the head of its answer.
    package var timeout: Duration
    /// After the first failure in a row; it doubles up to the longest.
    package var firstPause: Duration
    package var longestPause: Duration
    /// For what is left when the process ends.
    package var grace: Duration

    package init(
        room: Int = 256,
        longestAge: Duration = .seconds(3_600),
        timeout: Duration = .seconds(5),
        firstPause: Duration = .seconds(1),
        longestPause: Duration = .seconds(60),
        grace: Duration = .seconds(5)
    ) {
        self.room = room
        self.longestAge = longestAge
        self.timeout = timeout
        self.firstPause = firstPause
        self.longestPause = longestPause
        self.grace = grace
    }
}
