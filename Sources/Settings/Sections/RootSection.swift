internal import SystemSupport
internal import TokenModel

/// The keys of the whole file.
enum RootKey: String, Vocabulary {
    case listeners, admin, metrics, store, replica, providers, accounts, routes, callers, limits, log, login, webhook
    case stateDirectory = "state_dir"
    case shutdownGrace = "shutdown_grace"
    case requireApproval = "require_approval"
}

extension GatewaySettings {
    /// Reads the whole file and reports faults to the reading. If there are faults, the value must not be used.
    init(_ section: Section<RootKey>, in reading: Reading) {
        let state = section.stateDirectory(reading.surroundings)
        let listeners =
            section.read(.listeners) { ListenerSettings.list($0, hasCallers: section.has(.callers)) } ?? [.standard]

        // References are checked against all names in the file, even if the named object itself has faults.
        let providers = section.requireMembers(.providers)
        let accounts = AccountsSection(section.requireMembers(.accounts), providers: providers?.map(\.name))
        let routes = section.require(.routes) {
            RouteSettings.list(
                $0,
                accounts: accounts.configured,
                hasCallers: section.has(.callers),
                listeners: listeners
            )
        }

        self.callers = section.read(.callers) {
            CallerSettings.list($0, listeners: listeners, routes: routes, accounts: accounts.configured)
        }
        self.listeners = listeners
        self.admin = AdminSettings(section.section(.admin, of: AdminKey.self), state: state, besides: listeners)
        let admin = self.admin
        let metrics = section.read(.metrics) { MetricsSettings($0, besides: listeners, admin) }
        self.metrics = metrics
        self.login = section.read(.login) { LoginListenerSettings($0, besides: listeners, admin, metrics) }
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
        self.accounts = accounts.accounts
        self.families = accounts.families
        self.requireApproval = section.read(.requireApproval) {
            ApprovalSettings($0, accounts: accounts.configured)
        }
        LoginRules.check(accounts.entries, self.providers, at: providers ?? [])
        if let login = self.login { LoginRules.check(self.providers, at: providers ?? [], besides: login) }
        self.routes = routes ?? []
        self.limits = LimitSettings(section.section(.limits, of: LimitKey.self))
        self.webhook = section.read(.webhook) { WebhookSettings($0) }
        self.log = LogSettings(section.section(.log, of: LogKey.self))

        let unproven = Set(self.providers.filter { $0.clientAuthentication == .none }.map(\.id))
        for account in accounts.entries
        where account.grant == .clientCredentials && unproven.contains(account.provider) {
            account.place.warn("client_credentials is for clients that prove themselves, and client_auth is none")
        }
        let usedProviders = Set(accounts.entries.map(\.provider.rawValue))
        for provider in providers ?? [] where !usedProviders.contains(provider.name) {
            provider.place.warn("no account uses it")
        }
        let (callers, configured) = (self.callers ?? [], accounts.configured ?? ConfiguredAccounts())
        let reached = self.routes.map { (name: $0.name, accounts: $0.accounts(among: configured, for: callers)) }
        let usedAccounts = Set(reached.flatMap(\.accounts))
        for account in accounts.entries where !usedAccounts.contains(account.pattern) {
            account.place.warn("no route uses it")
        }
        let providerOf = Dictionary(accounts.entries.map { ($0.pattern, $0.provider) }) { first, _ in first }
        for (route, accounts) in reached where Set(accounts.compactMap { providerOf[$0] }).count > 1 {
            section[.routes]?.warn("callers may have \(route) send its upstream tokens of several providers")
        }
        if self.routes.isEmpty {
            section[.routes]?.warn("is empty, every request will be answered with 404")
        }
        self.secretVariables = reading.secretVariables
        self.warnings = reading.warnings.sorted(by: SettingsFinding.precedes)
    }
}

extension Section<RootKey> {
    /// The members of a required mapping, for checking references to them.
    ///
    /// - Returns: an empty list if the file doesn't have the key, so that every reference is reported too. `nil` if the
    ///   key is misspelled or its value is not a mapping: that has its own fault, and references are not checked.
    fileprivate func requireMembers(_ key: RootKey) -> [Place.Member]? {
        let members = self.require(key) { $0.members() }
        return self.has(key) ? members : []
    }

    /// The directory for the gateway's files; empty if nothing determines it.
    func stateDirectory(_ surroundings: SettingsEnvironment) -> String {
        if let place = self[.stateDirectory] {
            return place.file(under: surroundings.configurationDirectory) ?? ""
        }
        if let standard = surroundings.defaultStateDirectory { return standard }
        self.missing("state_dir is missing, and neither XDG_STATE_HOME nor HOME says where it would be")
        return ""
    }
}

/// The keys of `replica`.
enum ReplicaKey: String, Vocabulary {
    case name, lease
}

extension ReplicaSettings {
    init(_ section: Section<ReplicaKey>) {
        self.name = section.read(.name) { place in
            guard let name = place.text() else { return nil }
            do throws(ValueError) { try ConfiguredName.check(name) } catch { place.fault(error.message) }
            return name
        }
        self.lease = section.read(.lease) { $0.duration(in: .seconds(1) ... .seconds(300)) } ?? .seconds(10)
    }
}

/// The keys of `log`.
enum LogKey: String, Vocabulary {
    case level, format, access
}

extension LogSettings.Level: Vocabulary {}

extension LogSettings.Format: Vocabulary {}

extension LogSettings {
    init(_ section: Section<LogKey>) {
        self.level = section.read(.level) { $0.choice(Level.self) } ?? .info
        self.format = section.read(.format) { $0.choice(Format.self) } ?? .json
        self.access = section.read(.access) { $0.flag() } ?? true
    }
}

/// A server that receives a client's assertion must not be able to use it elsewhere (RFC 7523 §3; RFC 9700 §4.4).
enum AssertionRules {
    /// Why the revocation endpoint must not receive assertions made for the token endpoint; `nil` if it may. Applies
    /// only if no other audience is configured.
    static func fault(of revocationEndpoint: HTTPURL, beside tokenEndpoint: HTTPURL) -> String? {
        let isShared =
            revocationEndpoint.scheme == tokenEndpoint.scheme && revocationEndpoint.host == tokenEndpoint.host
            && revocationEndpoint.port == tokenEndpoint.port
        guard !isShared else { return nil }
        return """
            is at another origin than token_endpoint, where it could use the assertions that it is shown: add the issuer, which \
            they name then, or private_key.audience
            """
    }

    /// Providers with the same private key and client ID as an earlier provider. An assertion sent to one could be used
    /// at the other.
    static func sharedKeys(_ providers: [ProviderSettings]) -> [(later: ProviderID, first: ProviderID)] {
        providers.indices.compactMap { index in
            let provider = providers[index]
            guard provider.clientAuthentication == .privateKeyJWT, let key = provider.privateKey else { return nil }
            let first = providers[..<index].first {
                $0.clientAuthentication == .privateKeyJWT && $0.clientID == provider.clientID
                    && ($0.privateKey?.file == key.file || $0.privateKey?.pem == key.pem)
            }
            return first.map { (provider.id, $0.id) }
        }
    }
}

/// The keys of `admin`.
enum AdminKey: String, Vocabulary {
    case address, socket, tls
    case tokenFile = "token_file"
    case allowCleartext = "allow_cleartext"
}

extension AdminSettings {
    init(_ section: Section<AdminKey>, state: String, besides listeners: [ListenerSettings]) {
        let address = section.read(.address) { place in
            section.has(.tls) || section.allows(.allowCleartext)
                ? place.listenerAddress() : place.loopbackAddress(or: "another needs tls, or allow_cleartext: true")
        }
        self.address = address ?? ListenerAddress(loopbackPort: 8081)
        self.tls = section.read(.tls) { CertificateSettings($0) }
        self.tokenFile =
            section.read(.tokenFile) { $0.file(under: state) } ?? SettingsEnvironment.path("admin.token", under: state)
        self.socket =
            section.read(.socket) { $0.file(under: state) } ?? SettingsEnvironment.path("admin.sock", under: state)

        // Inside state_dir, a file of another user is refused later. Elsewhere it is only a warning.
        if SecretFile.isOutside(self.tokenFile, of: state) { section[.tokenFile]?.warnOfOwner(self.tokenFile) }

        guard let owner = self.address.owner(among: listeners) else { return }
        if let place = section[.address] {
            if address != nil { place.fault("is the address of \(owner) too") }
        } else {
            section.missing("admin.address is missing, and its default \(self.address) is the address of \(owner)")
        }
    }
}

/// The keys of `limits`.
enum LimitKey: String, Vocabulary {
    case head, field, fields, target, connections, waiters
    case connectionsPerAddress = "connections_per_address"
    case headMemory = "head_memory"
    case replayMemory = "replay_memory"
    case headerTimeout = "header_timeout"
    case handshakeTimeout = "handshake_timeout"
    case bodyRate = "body_rate"
    case idleTimeout = "idle_timeout"
}

extension LimitSettings {
    init(_ section: Section<LimitKey>) {
        // Less than a browser sends is useless. More than 1 MiB per head lets strangers occupy too much memory.
        let sizes = 256...(1 << 20)
        self.head = section.read(.head) { $0.size(in: sizes) } ?? 32 << 10
        self.field = section.read(.field) { $0.size(in: sizes) } ?? 16 << 10
        self.fields = section.read(.fields) { $0.count(in: 1...10_000) } ?? 200
        self.target = section.read(.target) { $0.size(in: sizes) } ?? 8 << 10
        let connections = section.read(.connections) { $0.count(in: 1...1_000_000) }
        self.connections = connections ?? 10_000
        self.namesConnections = connections != nil
        self.connectionsPerAddress = section.read(.connectionsPerAddress) { $0.count(in: 0...1_000_000) } ?? 0
        self.waiters = section.read(.waiters) { $0.count(in: 1...1_000_000) } ?? 10_000
        self.headMemory = section.read(.headMemory) { $0.size(in: (1 << 20)...(64 << 30)) } ?? 64 << 20
        self.replayMemory = section.read(.replayMemory) { $0.size(in: 0...(64 << 30)) } ?? 64 << 20
        // A client that needs longer than this to send its request occupies a connection for nothing.
        let beginnings = Duration.milliseconds(100)...(.minutes(10))
        self.headerTimeout = section.read(.headerTimeout) { $0.duration(in: beginnings) } ?? .seconds(10)
        self.handshakeTimeout = section.read(.handshakeTimeout) { $0.duration(in: beginnings) } ?? .seconds(10)
        self.bodyRate = section.read(.bodyRate) { $0.size(in: 0...(1 << 20)) } ?? 1 << 10
        self.idleTimeout =
            section.read(.idleTimeout) { $0.duration(in: .milliseconds(100)...(.hours(24))) } ?? .minutes(1)
    }
}
