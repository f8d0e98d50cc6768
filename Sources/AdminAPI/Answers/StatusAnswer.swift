internal import TokenModel
internal import TokenRefresh

/// All that an operator wants to see at a glance.
struct StatusAnswer: Encodable, Sendable {
    let version: String
    let ready: Bool
    let replica: Replica
    let store: Store
    let listeners: [Listener]
    let providers: [Provider]
    let accounts: [AccountAnswer]

    init(_ vitals: GatewayVitals, _ accounts: [AccountStatus]) {
        self.version = vitals.version
        self.ready = vitals.isReady
        self.replica = Replica(
            name: vitals.replica.name,
            boot: vitals.replica.boot.rawValue,
            startedAt: vitals.replica.startedAt.rfc3339
        )
        self.store = Store(driver: vitals.store.driver, open: vitals.store.isOpen)
        self.listeners = vitals.listeners.map { Listener(address: $0.address, bound: $0.isBound) }
        self.providers = Dictionary(grouping: accounts, by: \.provider)
            .sorted { $0.key < $1.key }
            .map { provider, accounts in
                Provider(
                    name: provider.rawValue,
                    accounts: Dictionary(grouping: accounts, by: \.state.rawValue).mapValues(\.count)
                )
            }
        self.accounts = accounts.map(AccountAnswer.init)
    }

    struct Replica: Encodable, Sendable {
        let name: String
        let boot: String
        let startedAt: String

        private enum CodingKeys: String, CodingKey {
            case name, boot
            case startedAt = "started_at"
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
        let accounts: [String: Int]
    }
}
