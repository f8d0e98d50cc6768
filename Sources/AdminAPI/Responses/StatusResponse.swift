internal import KillSwitch
internal import TokenModel
internal import TokenRefresh

/// An overview of the gateway for operators.
struct StatusResponse: Encodable, Sendable {
    /// The current time by the responding process's wall clock. All other times are to be compared with it.
    let time: String
    let version: String
    let ready: Bool
    /// `true` while the process stops on purpose, otherwise left out.
    let stopping: Bool?
    /// Left out while the gateway is open. A locked gateway shows no account, no provider and no kill.
    let lock: LockResponse?
    let replica: Replica
    /// Left out while the gateway uses everything in its configuration file, as read last.
    let configuration: Configuration?
    let store: Store
    let listeners: [Listener]
    /// The scopes that are killed now.
    let killed: [ScopeResponse]
    /// Those of them that are not in the store yet. They are killed in this replica alone.
    let waitingKills: [ScopeResponse]
    let providers: [Provider]
    /// The accounts of families are not among them.
    let accounts: [AccountResponse]
    /// Left out if the configuration has no family.
    let families: [Family]?
    /// The accounts that are used only after an approval; left out if there are none.
    let approvals: [ApprovalResponse]?

    /// The overview of a gateway that is not open.
    init(_ vitals: GatewayVitals, lock: LockStatus, at time: WallTime) {
        let lease = LeaseReading(now: time, until: nil)
        self.init(vitals, [], nil, killed: [], waiting: [], lease: lease, lock: lock)
    }

    /// - Parameter providers: the configured providers. Others, which only records name, are shown without a state.
    init(
        _ vitals: GatewayVitals,
        _ providers: [ProviderStatus],
        _ overview: AccountOverview?,
        killed: Set<KillScope>,
        waiting: [KillScope],
        lease: LeaseReading,
        lock: LockStatus? = nil,
        approvals: [ApprovalStanding] = []
    ) {
        self.lock = lock.map(LockResponse.init)
        self.approvals = approvals.isEmpty ? nil : ApprovalsResponse(approvals).approvals
        self.waitingKills = waiting.map(ScopeResponse.init)
        self.time = lease.now.rfc3339
        self.killed = killed.sorted { $0.text < $1.text }.map(ScopeResponse.init)
        self.version = vitals.version
        self.ready = vitals.isReady && lock == nil
        self.stopping = vitals.isStopping ? true : nil
        self.replica = Replica(
            name: vitals.replica.name,
            boot: vitals.replica.incarnation.rawValue,
            startedAt: vitals.replica.startedAt.rfc3339,
            leaseUntil: lease.until?.rfc3339
        )
        self.configuration = Configuration(vitals.configuration)
        self.store = Store(vitals.store)
        self.listeners = vitals.listeners.map { Listener(address: $0.address, bound: $0.isBound) }
        let known = Dictionary(providers.map { ($0.provider, $0) }) { first, _ in first }
        self.providers = (overview?.states ?? [:])
            .sorted { $0.key < $1.key }
            .map { provider, states in
                Provider(
                    name: provider.rawValue,
                    state: known[provider]?.state.rawValue,
                    retryAt: known[provider]?.retryAt?.rfc3339,
                    revokes: known[provider]?.revokes,
                    accounts: states.byName
                )
            }
        self.accounts = overview?.named.map(AccountResponse.init) ?? []
        let families = overview?.families.map(Family.init) ?? []
        self.families = families.isEmpty ? nil : families
    }

    private enum CodingKeys: String, CodingKey {
        case time, version, ready, stopping, lock, replica, configuration, store, listeners, killed, providers, accounts
        case approvals, families
        case waitingKills = "waiting_kills"
    }

    struct Replica: Encodable, Sendable {
        let name: String
        let boot: String
        let startedAt: String
        /// Until when tokens are put into requests, unless the kill log is read again before. `nil` if no tokens are
        /// put into requests.
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
        /// Changed parts of the file that need a restart, as the file names them; left out if there are none.
        let needsRestart: [String]?

        private enum CodingKeys: String, CodingKey {
            case reloadFailed = "reload_failed"
            case needsRestart = "needs_restart"
        }

        struct Failure: Encodable, Sendable {
            let at: String
            /// The code in the log, such as `config_invalid`.
            let code: String
            /// The first fault.
            let fault: String
            /// The number of faults. The log contains all of them.
            let faults: Int
        }

        /// - Returns: `nil` if there is nothing to report.
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
        /// Whether each acknowledged write is on a synchronous standby too; left out if the store has no server.
        let replicated: Bool?
        /// Whether a failover loses no acknowledged write; left out if the store has no server.
        let lossless: Bool?
        /// How many synchronous standbys are connected; left out if that can't be seen.
        let standbys: Int?
        /// How far this host's wall clock is behind the server's.
        let clockOffset: Int64?
        /// How far a move to another store is; left out if there is none.
        let move: Move?
        /// The copies of the store; left out if there are none.
        let mirrors: [Mirror]?

        struct Move: Encodable, Sendable {
            let state: String
            let moved: Int
        }

        struct Mirror: Encodable, Sendable {
            let name: String
            let state: String
            let completeAt: String?

            private enum CodingKeys: String, CodingKey {
                case name, state
                case completeAt = "complete_at"
            }
        }

        init(_ store: GatewayVitals.Store) {
            self.driver = store.driver
            self.open = store.isOpen
            self.replicated = store.server?.isReplicated
            self.lossless = store.server?.losesNothing
            self.standbys = store.server?.connectedReplicas
            self.clockOffset = store.server.map { Int64($0.clockOffset / .milliseconds(1)) }
            self.move = store.move.map { Move(state: $0.state, moved: $0.moved) }
            let mirrors = store.mirrors.map { mirror in
                Mirror(name: mirror.name, state: mirror.state, completeAt: mirror.completeAt?.rfc3339)
            }
            self.mirrors = mirrors.isEmpty ? nil : mirrors
        }

        private enum CodingKeys: String, CodingKey {
            case driver, open, replicated, lossless, standbys, move, mirrors
            case clockOffset = "clock_offset_ms"
        }
    }

    struct Listener: Encodable, Sendable {
        let address: String
        let bound: Bool
    }

    /// A provider that accounts belong to, and the number of its accounts in each state.
    struct Provider: Encodable, Sendable {
        let name: String
        /// `answering`, `refuses_client`, `not_provider` or `failing`; `nil` for a provider that is not in the
        /// configuration.
        let state: String?
        /// When requests to the provider resume, if they are paused.
        let retryAt: String?
        /// Whether it has a revocation endpoint; `nil` while that is unknown.
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

extension StatusResponse {
    /// A family of accounts in numbers.
    struct Family: Encodable, Sendable {
        /// As in the configuration, with the star.
        let family: String
        let provider: String
        /// How many accounts exist.
        let accounts: Int
        /// How many may exist.
        let max: Int
        let states: [String: Int]

        init(_ status: FamilyStatus) {
            self.family = status.family.description
            self.provider = status.provider.rawValue
            self.accounts = status.accounts
            self.max = status.max
            self.states = status.states.byName
        }
    }
}

extension [AccountStatus.State: Int] {
    /// The numbers by the names of the states, without those that are 0.
    fileprivate var byName: [String: Int] {
        [String: Int](uniqueKeysWithValues: self.filter { $0.value > 0 }.map { ($0.key.rawValue, $0.value) })
    }
}

extension AccountOverview {
    /// The number of all accounts in each state, by provider.
    fileprivate var states: [ProviderID: [AccountStatus.State: Int]] {
        var states: [ProviderID: [AccountStatus.State: Int]] = [:]
        for account in self.named { states[account.provider, default: [:]][account.state, default: 0] += 1 }
        for family in self.families {
            states[family.provider, default: [:]].merge(family.states) { $0 + $1 }
        }
        return states
    }
}

/// The process is alive.
struct HealthResponse: Encodable, Sendable {
    let alive = true
}

/// Whether callers would be served, and the checks that decide it.
struct ReadinessResponse: Encodable, Sendable {
    let ready: Bool
    /// `true` while the process stops on purpose, otherwise left out. Closed listeners are no fault then.
    let stopping: Bool?
    /// `true` while the gateway is not open, otherwise left out. Nothing is open or held then, which is no fault.
    let locked: Bool?
    let checks: Checks

    init(_ vitals: GatewayVitals, isLocked: Bool) {
        self.ready = vitals.isReady && !isLocked
        self.stopping = vitals.isStopping ? true : nil
        self.locked = isLocked ? true : nil
        self.checks = Checks(
            storeOpen: vitals.store.isOpen,
            listenersBound: vitals.areListenersBound,
            leaseHeld: vitals.isLeaseHeld
        )
    }

    struct Checks: Encodable, Sendable {
        let storeOpen: Bool
        let listenersBound: Bool
        let leaseHeld: Bool

        private enum CodingKeys: String, CodingKey {
            case storeOpen = "store_open"
            case listenersBound = "listeners_bound"
            case leaseHeld = "lease_held"
        }
    }
}
