package import TokenModel

/// How far a kill has come.
package struct KillReport: Equatable, Sendable {
    package enum State: String, Sendable {
        /// No replica puts a killed token into a request any more, and none ever will.
        case complete
        /// Somebody has not said so yet.
        case pending
    }

    /// One replica that was waited for.
    package struct Replica: Equatable, Sendable {
        package let name: String
        package let state: KillWatch.State
        /// When it will be past its lease; `nil` where nobody waits for it.
        package let until: WallTime?

        package init(name: String, state: KillWatch.State, until: WallTime? = nil) {
            self.name = name
            self.state = state
            self.until = until
        }
    }

    /// What became of the tokens at their providers.
    package struct Tokens: Equatable, Sendable {
        /// Not revoked yet.
        package var waiting = 0
        /// Accounts whose refresh was under way: tokens may come that nobody knows yet.
        package var inFlight = 0
        package var revoked = 0
        package var refused = 0
        package var unsupported = 0
        package var unreachable = 0

        package init() {}

        package var total: Int {
            self.waiting + self.inFlight + self.revoked + self.refused + self.unsupported + self.unreachable
        }
    }

    package let id: KillID
    package let scope: KillScope
    package let reason: String
    package let streams: KillStreams
    package let epoch: Epoch
    package var state: State
    package var replicas: [Replica]
    package var tokens = Tokens()
    /// Requests of this replica that were left to end.
    package var draining = 0
    package let startedAt: WallTime
    package var completedAt: WallTime?
}
