internal import TokenModel

/// The keys of the whole file.
enum RootKey: String, Vocabulary {
    case listeners, admin, metrics, store, replica, providers, accounts, routes, callers, limits, log, webhook
    case stateDirectory = "state_dir"
    case shutdownGrace = "shutdown_grace"
}

extension GatewaySettings {
    /// Reads the whole file. What is wrong goes to the reading; where that has faults this value is of no use.
    init(_ section: Section<RootKey>, in reading: Reading) {
        let state = section.stateDirectory(reading.surroundings)
        let listeners =
            section.read(.listeners) { ListenerSettings.list($0, hasCallers: section.has(.callers)) } ?? [.standard]

        // References are checked against the names that stand in the file, whatever is wrong with what they name.
        let providers = section.requireMembers(.providers)
        let accounts = section.requireMembers(.accounts)
        let accountSettings = accounts?.compactMap { account in
            AccountSettings(account.name, account.place, providers: providers?.map(\.name))
        }
        let routes = section.require(.routes) {
            RouteSettings.list(
                $0,
                accounts: accounts?.map(\.name),
                hasCallers: section.has(.callers),
                listeners: listeners
            )
        }

        self.callers = section.read(.callers) {
            CallerSettings.list($0, listeners: listeners, routes: routes, accounts: accounts?.map(\.name))
        }
        self.listeners = listeners
        self.admin = AdminSettings(section.section(.admin, of: AdminKey.self), state: state, besides: listeners)
        let admin = self.admin
        self.metrics = section.read(.metrics) { MetricsSettings($0, besides: listeners, admin) }
        self.stateDirectory = state
        self.store = StoreSettings(section.section(.store, of: StoreKey.self), state: state)
        self.replica = ReplicaSettings(section.section(.replica, of: ReplicaKey.self))
        self.shutdownGrace = section.read(.shutdownGrace) { $0.duration(in: .zero ... .hours(1)) } ?? .seconds(30)
        self.providers = providers?.compactMap { ProviderSettings($0.name, $0.place) } ?? []
        for (later, first) in AssertionRules.sharedKeys(self.providers) {
            providers?.first { $0.name == later.rawValue }?.place.faultAtKey(
                "has the private key and the client_id of \(first): what one is shown could be used at the other; give it a key of "
                    + "its own"
            )
        }
        self.accounts = accountSettings ?? []
        self.routes = routes ?? []
        self.limits = LimitSettings(section.section(.limits, of: LimitKey.self))
        self.webhook = section.read(.webhook) { WebhookSettings($0) }
        self.log = LogSettings(section.section(.log, of: LogKey.self))

        let unproven = Set(self.providers.filter { $0.clientAuthentication == .none }.map(\.id))
        let minting = self.accounts.filter { $0.grant == .clientCredentials && unproven.contains($0.provider) }
        let unfit = Set(minting.map(\.id.rawValue))
        for account in accounts ?? [] where unfit.contains(account.name) {
            account.place.warn("client_credentials is for clients that prove themselves, and client_auth is none")
        }
        let usedProviders = Set(self.accounts.map(\.provider.rawValue))
        for provider in providers ?? [] where !usedProviders.contains(provider.name) {
            provider.place.warn("no account uses it")
        }
        let (callers, accountIDs) = (self.callers ?? [], self.accounts.map(\.id))
        let reached = self.routes.map { (name: $0.name, accounts: $0.accounts(among: accountIDs, for: callers)) }
        let usedAccounts = Set(reached.flatMap { $0.accounts.map(\.rawValue) })
        for account in accounts ?? [] where !usedAccounts.contains(account.name) {
            account.place.warn("no route uses it")
        }
        let providerOf = Dictionary(self.accounts.map { ($0.id, $0.provider) }) { first, _ in first }
        for (route, accounts) in reached where Set(accounts.compactMap { providerOf[$0] }).count > 1 {
            section[.routes]?.warn("callers may have \(route) send its upstream tokens of several providers")
        }
        if self.routes.isEmpty {
            section[.routes]?.warn("is empty, every request will be answered with 404")
        }
        self.warnings = reading.warnings.sorted(by: SettingsFinding.precedes)
    }
}

extension Section<RootKey> {
    /// The members of a mapping that must be there, for those who refer to them.
    ///
    /// - Returns: none where the file has no such key: whoever refers to one is wrong too, and is told so at once.
    ///   `nil` where the key is misspelt or its value is no mapping: that has its own fault, and no reference into it
    ///   is judged.
    fileprivate func requireMembers(_ key: RootKey) -> [Place.Member]? {
        let members = self.require(key) { $0.members() }
        return self.has(key) ? members : []
    }

    /// The directory for what the gateway writes; empty where nothing says it.
    func stateDirectory(_ surroundings: Surroundings) -> String {
        if let place = self[.stateDirectory] {
            return place.file(under: surroundings.configurationDirectory) ?? ""
        }
        if let standard = surroundings.defaultStateDirectory { return standard }
        self.missing("state_dir is missing, and neither XDG_STATE_HOME nor HOME says where it would be")
        return ""
    }
}
