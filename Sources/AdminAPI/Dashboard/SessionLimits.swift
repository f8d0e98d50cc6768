/// How many operators may be signed in to the dashboard, and for how long.
package struct SessionLimits: Equatable, Sendable {
    /// Sessions at once; one more ends another.
    package var count: Int
    /// How long a session lasts without a request. An open page asks every few seconds, so this is for those that were
    /// closed, and machines that sleep.
    package var idleTime: Duration
    /// How long a session lasts at most.
    package var time: Duration

    package init(count: Int = 32, idleTime: Duration = .seconds(30 * 60), time: Duration = .seconds(12 * 60 * 60)) {
        self.count = count
        self.idleTime = idleTime
        self.time = time
    }
}
