internal import KillSwitch
internal import TokenModel
internal import TokenRefresh

/// All that an operator wants to see at a glance.
struct StatusResponse: Encodable, Sendable {
    /// By the wall clock of who answers: all other times are to be read against this one.
    let time: String
    let version: String
    let ready: Bool
    /// `true` while it ends on purpose, else left out.
    let stopping: Bool?
    let replica: Replica
    /// Left out while the gateway goes by all that its configuration file said when it read it last.
    let configuration: Configuration?
    let store: Store
    let listeners: [Listener]
    /// What the kill switch holds now.
    let killed: [ScopeResponse]
    /// Those of them that the store has not taken yet: they hold in this replica alone.
    let waitingKills: [ScopeResponse]
    let providers: [Provider]
    let accounts: [AccountResponse]

    /// - Parameter providers: those of the configuration; others, that records name, are shown without a state.
    init(
        _ vitals: GatewayVitals,
        _ providers: [ProviderStatus],
        _ accounts: [AccountStatus],
        killed: Set<KillScope>,
        waiting: [KillScope],
        lease: LeaseReading
    ) {
        self.waitingKills = waiting.map(ScopeResponse.init)
        self.time = lease.now.rfc3339
        self.killed = killed.sorted { $0.text < $1.text }.map(ScopeResponse.init)
        self.version = vitals.version
        self.ready = vitals.isReady
        self.stopping = vitals.isStopping ? true : nil
        self.replica = Replica(
            name: vitals.replica.name,
            boot: vitals.replica.incarnation.rawValue,
            startedAt: vitals.replica.startedAt.rfc3339,
            leaseUntil: lease.until?.rfc3339
        )
        self.configuration = Configuration(vitals.configuration)
        self.store = Store(driver: vitals.store.driver, open: vitals.store.isOpen)
        self.listeners = vitals.listeners.map { Listener(address: $0.address, bound: $0.isBound) }
        let known = Dictionary(providers.map { ($0.provider, $0) }) { first, _ in first }
        self.providers = Dictionary(grouping: accounts, by: \.provider)
            .sorted { $0.key < $1.key }
            .map { provider, accounts in
                Provider(
                    name: provider.rawValue,
                    state: known[provider]?.state.rawValue,
                    retryAt: known[provider]?.retryAt?.rfc3339,
                    revokes: known[provider]?.revokes,
                    accounts: Dictionary(grouping: accounts, by: \.state.rawValue).mapValues(\.count)
                )
            }
        self.accounts = accounts.map(AccountResponse.init)
    }

    private enum CodingKeys: String, CodingKey {
        case time, version, ready, stopping, replica, configuration, store, listeners, killed, providers, accounts
        case waitingKills = "waiting_kills"
    }

    struct Replica: Encodable, Sendable {
        let name: String
        let boot: String
        let startedAt: String
        /// Until when tokens are put into requests, if the kill log is not read again before; `nil`: they are not.
        let leaseUntil: String?

        private enum Key: String, CodingKey {
            case name, boot
            case startedAt = "started_at"
            case leaseUntil = "lease_until"
        }

        func encode(to encoder: any Encoder) throws {
            var members = encoder.container(keyedBy: Key.self)
            try members.encode(self.name, forKey: .name)
            try members.encode(self.boot, forKey: .boot)
            try members.encode(self.startedAt, forKey: .startedAt)
            try members.encode(self.leaseUntil, forKey: .leaseUntil)
        }
    }

    struct Configuration: Encodable, Sendable {
        let reloadFailed: Failure?
        /// Parts of the file that were changed, as the file names them; left out where there are none.
        let needsRestart: [String]?

        private enum CodingKeys: String, CodingKey {
            case reloadFailed = "reload_failed"
            case needsRestart = "needs_restart"
        }

        struct Failure: Encodable, Sendable {
            let at: String
            /// As the log has it, such as `config_invalid`.
            let code: String
            /// The first one.
            let fault: String
            /// How many there are; the log has them all.
            let faults: Int
        }

        /// - Returns: `nil` where there is nothing to say.
        init?(_ configuration: GatewayVitals.Configuration) {
            let parts = configuration.waitingParts
            guard configuration.refusal != nil || !parts.isEmpty else { return nil }
            self.needsRestart = parts.isEmpty ? nil : parts
            self.reloadFailed = configuration.refusal.map { refusal in
                Failure(
                    at: refusal.at.rfc3339,
                    code: refusal.code,
                    fault: refusal.faults.first ?? refusal.code,
                    faults: refusal.faults.count
                )
            }
        }
    }

    struct Store: Encodable, Sendable {
        let driver: String
        let open: Bool
    }

    struct Listener: Encodable, Sendable {
        let address: String
        let bound: Bool
    }

    /// A provider that accounts belong to, and how many of them are in which state.
    struct Provider: Encodable, Sendable {
        let name: String
        /// `answering`, `refuses_client`, `not_provider` or `failing`; `nil` for one that is not in the configuration.
        let state: String?
        /// When it is asked again, where it is not asked now.
        let retryAt: String?
        /// Whether it has an endpoint that revokes; `nil` while nobody knows.
        let revokes: Bool?
        let accounts: [String: Int]

        private enum Key: String, CodingKey {
            case name, state, revokes, accounts
            case retryAt = "retry_at"
        }

        func encode(to encoder: any Encoder) throws {
            var members = encoder.container(keyedBy: Key.self)
            try members.encode(self.name, forKey: .name)
            try members.encode(self.state, forKey: .state)
            try members.encode(self.retryAt, forKey: .retryAt)
            try members.encode(self.revokes, forKey: .revokes)
            try members.encode(self.accounts, forKey: .accounts)
        }
    }
}
