/// A gateway's status as the admin API shows it.
package struct StatusReply: Decodable, Equatable, Sendable {
    package let version: String
    package let ready: Bool
    /// `true` while the gateway waits for its last requests; `nil` otherwise, or if an older gateway doesn't report it.
    package let stopping: Bool?
    /// `nil` while the gateway is open, or if an older gateway doesn't report it.
    package let lock: LockReply?
    /// The accounts that are used only after an approval; `nil` if there are none.
    package let approvals: [ApprovalReply]?
    package let replica: Replica
    /// `nil` if the gateway follows its configuration file, or if an older gateway doesn't report it.
    package let configuration: Configuration?
    package let store: Store
    package let listeners: [Listener]
    /// The active kills; `nil` if an older gateway doesn't report them.
    package let killed: [ScopeReply]?
    /// Kills that the store has not accepted yet.
    package let waitingKills: [ScopeReply]?
    package let providers: [Provider]
    /// The families of accounts, in numbers; `nil` if there are none.
    package let families: [Family]?
    /// The accounts that are configured by name, or not at all; from an older gateway all accounts.
    package let accounts: [AccountReply]

    private enum CodingKeys: String, CodingKey {
        case version, ready, stopping, lock, approvals, replica, configuration, store, listeners, killed, providers
        case families, accounts
        case waitingKills = "waiting_kills"
    }

    /// The process that responded.
    package struct Replica: Decodable, Equatable, Sendable {
        package let name: String
        package let startedAt: String

        private enum CodingKeys: String, CodingKey {
            case name
            case startedAt = "started_at"
        }
    }

    /// The parts of its configuration file that the gateway doesn't follow.
    package struct Configuration: Decodable, Equatable, Sendable {
        /// The failure of the last reload; `nil` if it succeeded.
        package let reloadFailed: Failure?
        /// Parts of the file that take effect only after a restart.
        package let needsRestart: [String]?

        private enum CodingKeys: String, CodingKey {
            case reloadFailed = "reload_failed"
            case needsRestart = "needs_restart"
        }

        /// Why a reload has changed nothing.
        package struct Failure: Decodable, Equatable, Sendable {
            package let at: String
            package let code: String
            /// The first fault.
            package let fault: String
            package let faults: Int
        }
    }

    /// Where the gateway keeps tokens.
    package struct Store: Decodable, Equatable, Sendable {
        package let driver: String
        package let open: Bool
        /// Whether each acknowledged write is on a synchronous standby too; `nil` if the store has no server.
        package let replicated: Bool?
        /// Whether a failover loses no acknowledged write; `nil` if the store has no server.
        package let lossless: Bool?
        /// How many synchronous standbys are connected; `nil` if that can't be seen.
        package let standbys: Int?
        /// How many milliseconds the gateway's clock is behind the server's.
        package let clockOffset: Int?
        /// How far a move to another store is; `nil` if there is none.
        package let move: Move?
        /// The copies of the store; `nil` if there are none.
        package let mirrors: [Mirror]?

        package struct Move: Decodable, Equatable, Sendable {
            package let state: String
            package let moved: Int
        }

        package struct Mirror: Decodable, Equatable, Sendable {
            package let name: String
            package let state: String
            package let completeAt: String?

            private enum CodingKeys: String, CodingKey {
                case name, state
                case completeAt = "complete_at"
            }
        }

        private enum CodingKeys: String, CodingKey {
            case driver, open, replicated, lossless, standbys, move, mirrors
            case clockOffset = "clock_offset_ms"
        }
    }

    /// Where callers connect.
    package struct Listener: Decodable, Equatable, Sendable {
        package let address: String
        package let bound: Bool
    }

    /// A provider, and the number of its accounts in each state.
    package struct Provider: Decodable, Equatable, Sendable {
        package let name: String
        /// The provider's availability for the gateway; `nil` for a provider that only records name.
        package let state: String?
        /// When the provider is asked again, unless it is asked now.
        package let retryAt: String?
        /// Whether a kill revokes tokens there; `nil` if that is not known, or if an older gateway doesn't report it.
        package let revokes: Bool?
        package let accounts: [String: Int]

        private enum CodingKeys: String, CodingKey {
            case name, state, revokes, accounts
            case retryAt = "retry_at"
        }
    }

    /// A family of accounts, such as `customer-*`, and the number of its accounts in each state.
    package struct Family: Decodable, Equatable, Sendable {
        package let family: String
        package let provider: String
        package let accounts: Int
        /// The most accounts that the family may have.
        package let max: Int
        package let states: [String: Int]
    }
}

/// Whether a gateway's process is alive.
package struct LivenessReply: Decodable, Equatable, Sendable {
    package let alive: Bool
}

/// Whether a gateway is ready for callers.
package struct ReadinessReply: Decodable, Equatable, Sendable {
    package let ready: Bool
    /// `true` while the gateway waits for its last requests; `nil` otherwise, or if an older gateway doesn't report it.
    package let stopping: Bool?
    /// `true` while the gateway is locked; `nil` otherwise, or if an older gateway doesn't report it.
    package let locked: Bool?
    /// The conditions for readiness.
    package let checks: [String: Bool]

    /// Why the gateway is not ready; `nil` if it is ready.
    package var obstacle: String? {
        guard !self.ready else { return nil }
        // While the gateway stops, its listeners are closed on purpose.
        if self.stopping == true { return "it is stopping, and ends when its last requests have" }
        if self.locked == true { return "it is locked: martlet status shows more, martlet unlock opens it" }
        let failed = self.checks.filter { !$0.value }.keys.sorted().joined(separator: ", ")
        return failed.isEmpty ? "it does not say why" : failed
    }
}
