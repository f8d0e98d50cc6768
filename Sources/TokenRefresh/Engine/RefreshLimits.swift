/// How many may wait for a refresh, and how long.
package struct RefreshLimits: Sendable {
    /// Over all accounts; past it a request is answered `overloaded`.
    package var waiters: Int
    /// However long a provider's `timeout` is, past this a waiter is answered `refresh_failed`; the flight goes on.
    package var longestWait: Duration
    /// How often the records of accounts with a credential are read again, for a change whose hint was lost.
    package var rereadInterval: Duration

    package init(
        waiters: Int = 10_000,
        longestWait: Duration = .seconds(15),
        rereadInterval: Duration = .seconds(10)
    ) {
        self.waiters = waiters
        self.longestWait = longestWait
        self.rereadInterval = rereadInterval
    }

    /// How long a caller waits for a refresh by `plan`.
    func wait(for plan: AccountConfiguration) -> Duration { min(plan.timeout, self.longestWait) }
}
