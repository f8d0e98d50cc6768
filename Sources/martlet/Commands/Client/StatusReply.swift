/// A gateway's status as the admin API shows it.
package struct StatusReply: Decodable, Equatable, Sendable {
    package let version: String
    package let ready: Bool
    /// `true` while it lets its last requests end; `nil` otherwise, or where a gateway of before says nothing of it.
    package let stopping: Bool?
    package let replica: Replica
    /// `nil` where it goes by its configuration file, or a gateway of before says nothing of it.
    package let configuration: Configuration?
    package let store: Store
    package let listeners: [Listener]
    /// What the kill switch holds now; `nil` where a gateway of before says nothing of it.
    package let killed: [ScopeReply]?
    /// Kills that the store has not taken yet.
    package let waitingKills: [ScopeReply]?
    package let providers: [Provider]
    package let accounts: [AccountReply]

    private enum CodingKeys: String, CodingKey {
        case version, ready, stopping, replica, configuration, store, listeners, killed, providers, accounts
        case waitingKills = "waiting_kills"
    }

    /// The process that answered.
    package struct Replica: Decodable, Equatable, Sendable {
        package let name: String
        package let startedAt: String

        private enum CodingKeys: String, CodingKey {
            case name
            case startedAt = "started_at"
        }
    }

    /// What of its configuration file it does not go by.
    package struct Configuration: Decodable, Equatable, Sendable {
        /// Of the last reload; `nil` where that was taken.
        package let reloadFailed: Failure?
        /// Parts of the file that wait for a restart.
        package let needsRestart: [String]?

        private enum CodingKeys: String, CodingKey {
            case reloadFailed = "reload_failed"
            case needsRestart = "needs_restart"
        }

        /// Why a reload has changed nothing.
        package struct Failure: Decodable, Equatable, Sendable {
            package let at: String
            package let code: String
            /// The first of them.
            package let fault: String
            package let faults: Int
        }
    }

    /// Where it keeps tokens.
    package struct Store: Decodable, Equatable, Sendable {
        package let driver: String
        package let open: Bool
    }

    /// Where callers connect.
    package struct Listener: Decodable, Equatable, Sendable {
        package let address: String
        package let bound: Bool
    }

    /// A provider, and how many of its accounts are in which state.
    package struct Provider: Decodable, Equatable, Sendable {
        package let name: String
        /// How it stands with the gateway; `nil` for one that only records name.
        package let state: String?
        /// When it is asked again, where it is not asked now.
        package let retryAt: String?
        /// Whether a kill revokes anything there; `nil` where nobody knows, or a gateway of before says nothing of it.
        package let revokes: Bool?
        package let accounts: [String: Int]

        private enum CodingKeys: String, CodingKey {
            case name, state, revokes, accounts
            case retryAt = "retry_at"
        }
    }
}

/// Whether a gateway is ready for callers.
package struct ReadinessReply: Decodable, Equatable, Sendable {
    package let ready: Bool
    /// `true` while it lets its last requests end; `nil` otherwise, or where a gateway of before says nothing of it.
    package let stopping: Bool?
    /// What that hangs on.
    package let checks: [String: Bool]

    /// Why it is not ready; `nil` where it is.
    package var obstacle: String? {
        guard !self.ready else { return nil }
        // Its listeners are closed on purpose then.
        if self.stopping == true { return "it is stopping, and ends when its last requests have" }
        let failed = self.checks.filter { !$0.value }.keys.sorted().joined(separator: ", ")
        return failed.isEmpty ? "it does not say why" : failed
    }
}
