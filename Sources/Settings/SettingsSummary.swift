internal import OAuth
internal import TextCoding
internal import TokenModel

/// The meaning of a configuration, as plain lines for the operator. It shows where secrets come from, never their
/// values.
package struct SettingsSummary: Sendable {
    private let settings: GatewaySettings

    package init(_ settings: GatewaySettings) { self.settings = settings }

    package var lines: [String] {
        self.process
            + Self.part("providers", self.settings.providers.flatMap(Self.lines))
            + Self.part("accounts", self.settings.accounts.map(Self.line) + self.settings.families.map(Self.line))
            + (self.settings.requireApproval.map { [Self.line($0)] } ?? [])
            + Self.part("routes", self.settings.routes.flatMap(Self.lines) + self.via)
            + (self.settings.callers.map { Self.part("callers", $0.map(Self.line)) }
                ?? ["no callers: whoever can connect may use every account, but for web pages"])
            + (self.settings.warnings.isEmpty ? [] : Self.part("warnings", self.settings.warnings.map(\.description)))
    }

    /// The lines about the process as a whole.
    private var process: [String] {
        let settings = self.settings
        let limits = settings.limits
        let metrics = settings.metrics.map { ["metrics on \($0.address), without a token"] } ?? []
        return [
            "callers connect to \(settings.listeners.map(Self.text).joined(separator: " and "))",
            Self.line(settings.admin),
        ] + metrics + (settings.login.map { [Self.line($0)] } ?? []) + Self.lines(settings.webhook) + [
            "state in \(settings.stateDirectory)",
            "store \(settings.store.summary)",
            "replica \(settings.replica.name ?? "of the host's name"), lease \(Quantity.text(settings.replica.lease))",
            "limits head \(Quantity.text(limits.head)), field \(Quantity.text(limits.field)), fields \(limits.fields),"
                + " target \(Quantity.text(limits.target)), waiters \(limits.waiters)",
            Self.line(limits),
            "log \(settings.log.level.rawValue) and above as \(settings.log.format.rawValue)"
                + (settings.log.access ? ", and a line per request" : ", no line per request"),
            "a stop waits up to \(Quantity.text(settings.shutdownGrace)) for requests in flight",
        ]
    }

    /// What follows from `Via`.
    private var via: [String] {
        self.settings.routes.contains(where: \.via)
            ? ["some upstreams compress nothing for requests with Via, as nginx by default; see via: false"] : []
    }

    private static func line(_ admin: AdminSettings) -> String {
        // The size of `sun_path` (unix(7)) minus the bytes that distinguish the processes' sockets.
        let isTooLong = admin.socket.utf8.count > 107 - 7
        return "admin on \(admin.address)" + (admin.tls.map { " over TLS with \($0.certificate)" } ?? "")
            + ", tokens in \(admin.tokenFile), "
            + (isTooLong ? "and no socket: more than 100 bytes" : "and without one on the socket") + " \(admin.socket)"
    }

    private static func text(_ listener: ListenerSettings) -> String {
        guard let tls = listener.tls else { return listener.address.description }
        let authorities = tls.clientAuthorities.map { ", asking for certificates of \($0)" } ?? ""
        return "\(listener.address) over TLS with \(tls.identity.certificate)\(authorities)"
    }

    /// The limits on connections, time and memory for callers.
    private static func line(_ limits: LimitSettings) -> String {
        let share = limits.connectionsPerAddress == 0 ? "" : ", \(limits.connectionsPerAddress) of one address"
        let pace = limits.bodyRate == 0 ? "at any pace" : "at \(Quantity.text(limits.bodyRate)) a second or more"
        let memory = Quantity.text(limits.headMemory)
        let heads = "a head within \(Quantity.text(limits.headerTimeout)), all of them in \(memory)"
        return "connections \(limits.connections)\(share), idle for \(Quantity.text(limits.idleTimeout)),"
            + " \(heads),"
            + " a handshake within \(Quantity.text(limits.handshakeTimeout)),"
            + " bodies \(pace), \(Quantity.text(limits.replayMemory)) of them kept"
    }

    private static func part(_ title: String, _ lines: [String]) -> [String] {
        lines.isEmpty ? ["no \(title)"] : ["\(title):"] + lines.map { "  " + $0 }
    }

    private static func lines(_ provider: ProviderSettings) -> [String] {
        let endpoints = [
            provider.issuer.map { "issuer \($0)" },
            provider.tokenEndpoint.map { "tokens from \($0)" },
            provider.revocationEndpoint.map { "revocation at \($0)" },
        ]
        return [
            "\(provider.id): " + endpoints.compactMap { $0 }.joined(separator: ", "),
            "  client \(provider.clientID), authentication \(provider.clientAuthentication.rawValue)"
                + Self.proof(of: provider),
            "  timeout \(Quantity.text(provider.timeout)), answer timeout \(Quantity.text(provider.answerTimeout)),"
                + " default lifetime \(Quantity.text(provider.defaultLifetime))"
                + (provider.certificateAuthorities.map { ", trusts only the roots in \($0)" } ?? "")
                + (provider.allowsCleartext ? ", cleartext allowed" : ""),
            Self.refreshes(of: provider),
            Self.signIn(at: provider),
        ] + Self.preset(of: provider)
    }

    /// When the provider's tokens are refreshed, and which parameters each token request carries.
    private static func refreshes(of provider: ProviderSettings) -> String {
        let mode = provider.refresh == .ahead ? "ahead of expiry" : "on expiry"
        let parameters = provider.tokenParameters.keys.sorted().joined(separator: " ")
        return "  refresh \(mode), kept alive after \(Quantity.text(provider.keepAlive)) without use"
            + Self.limit(", at most", provider.refreshRate) + Self.limit(", revocations at most", provider.revokeRate)
            + (parameters.isEmpty ? "" : ", token requests carry \(parameters)")
    }

    private static func limit(_ words: String, _ rate: RequestRateSettings) -> String {
        rate == .standard ? "" : "\(words) \(rate.perSecond) a second after a burst of \(rate.burst)"
    }

    private static func line(_ caller: CallerSettings) -> String {
        func list(_ kind: String, _ names: [String]?) -> String {
            names.map { ", \(kind) \($0.joined(separator: " "))" } ?? ", all \(kind)"
        }
        return "\(caller.name): \(Self.proofs(of: caller).joined(separator: " or "))"
            + list("routes", caller.routes) + list("accounts", caller.accounts?.map(\.description))
            + list("methods", caller.methods)
    }

    private static func proofs(of caller: CallerSettings) -> [String] {
        let keys =
            switch caller.keyDigests.count {
            case 0: nil as String?
            case 1: "one key"
            case let count: "\(count) keys"
            }
        let certificate = caller.certificate.map { name in
            switch name {
            case .subject(let name): "a certificate of subject \(name)"
            case .dns(let name), .uri(let name), .email(let name): "a certificate of \(name)"
            }
        }
        let peer = caller.peer.map { peer in
            let parts = [peer.user.map { "user \($0)" }, peer.group.map { "group \($0)" }]
            return "processes of " + parts.compactMap { $0 }.joined(separator: " and ")
        }
        return [certificate, keys, peer].compactMap { $0 }
    }

    private static func lines(_ tls: UpstreamTLSSettings) -> [String] {
        let trust = tls.certificateAuthorities.map { "trusts only the roots in \($0)" }
        let identity = tls.identity.map { "shows the certificate in \($0.certificate)" }
        let parts = [trust, identity].compactMap { $0 }
        return parts.isEmpty ? [] : ["  \(parts.joined(separator: ", "))"]
    }

    private static func lines(_ route: RouteSettings) -> [String] {
        let replay = route.replayBodyLimit == 0 ? "none" : "up to \(Quantity.text(route.replayBodyLimit))"
        let timeouts = route.timeouts
        let age = Quantity.text(route.connectionAge)
        let connections = "\(route.maximumConnections) connections per event loop for \(age) each"
        let account =
            switch route.account {
            case .fixed(let account): account.rawValue
            case .fromHeader: "the caller's account that \(RouteAccount.headerName) names"
            }
        return [
            "\(route.name): \(route.match.host ?? "any host") \(route.match.path) -> \(route.upstream) as \(account)",
            "  \(route.injection.header): \(route.injection.prefix)<token>, replay of bodies \(replay),"
                + (route.retryOn.isEmpty ? "" : " \(Self.signs(route.retryOn)),")
                + (route.strip ? "" : " matched path kept,") + (route.via ? "" : " no Via,")
                + (route.passesCookies ? " cookies pass," : "")
                + (route.forwarded == .append ? " Forwarded and X-Forwarded-* extended," : "")
                + (route.expect == .auto ? "" : " no Expect of the gateway's own,")
                + " connect \(Quantity.text(timeouts.connect)), response \(Quantity.text(timeouts.response)),"
                + " idle \(Quantity.text(timeouts.idle)), \(connections)",
        ] + Self.lines(route.cache) + Self.lines(route.upstreamTLS)
    }
}

extension SettingsSummary {
    /// The receiver of events. The URL's path may be a secret, so it is not shown.
    private static func lines(_ webhook: WebhookSettings?) -> [String] {
        guard let webhook else { return [] }
        let origin =
            switch webhook.secret.origin {
            case .file(let path): "file \(path)"
            case .variable(let name): "environment variable \(name)"
            }
        return [
            "events to \(webhook.url.scheme.rawValue)://\(webhook.url.host.authority):\(webhook.url.port),"
                + " signed with the secret from \(origin)"
        ]
    }

    /// What a route stores of responses, for how long and for whom.
    private static func lines(_ cache: CacheSettings?) -> [String] {
        guard let cache else { return [] }
        func text(_ seconds: Int) -> String { Quantity.text(.seconds(seconds)) }
        return [
            "  cache of \(Quantity.text(cache.maxSize)), bodies up to \(Quantity.text(cache.maxObject)),"
                + (cache.share == .account ? " shared by callers" : " apart for each caller")
                + (cache.keyFields.isEmpty ? "" : ", by \(cache.keyFields.joined(separator: " ")) too")
                + (cache.defaultTTL == 0 ? "" : ", fresh for \(text(cache.defaultTTL)) if responses say nothing")
                + (cache.staleIfError == 0 ? "" : ", stale for \(text(cache.staleIfError)) in place of an error")
        ]
    }

    /// The responses, besides a 401, that cause a refresh.
    private static func signs(_ signs: [RetrySign]) -> String {
        let statuses = signs.map { $0.json == nil ? "\($0.status)" : "\($0.status) with JSON" }
        return "a token is dead at \(statuses.joined(separator: " or ")) too"
    }
}

extension SettingsSummary: CustomStringConvertible {
    /// The lines, separated by newlines. Characters that would break a line or hide a part of it are shown as escapes.
    package var description: String { self.lines.map(PlainText.line).joined(separator: "\n") }
}

/// All settings of a configuration file, with defaults filled in and all paths absolute.
///
/// These are plain values: nothing here opens, binds or calls anything. The reader has checked the references between
/// them (each route's account, each account's provider).
package struct GatewaySettings: Equatable, Sendable {
    /// Where callers connect; at least one. Without ``callers``, all listeners are on loopback or Unix sockets.
    package internal(set) var listeners: [ListenerSettings]
    package internal(set) var admin: AdminSettings
    /// `nil`: only the admin listener serves metrics.
    package internal(set) var metrics: MetricsSettings?
    /// `nil`: the gateway itself receives no answers to sign-ins.
    package internal(set) var login: LoginListenerSettings?
    /// The directory for the files that the gateway writes. It may not exist yet.
    package internal(set) var stateDirectory: String
    package internal(set) var store: StoreSettings
    package internal(set) var replica: ReplicaSettings
    /// How long requests in progress may continue after SIGTERM.
    package internal(set) var shutdownGrace: Duration
    /// In the order of the file, like accounts and routes.
    package let providers: [ProviderSettings]
    package let accounts: [AccountSettings]
    package let families: [AccountFamilySettings]
    /// `nil`: all accounts are used at any time.
    package let requireApproval: ApprovalSettings?
    package let routes: [RouteSettings]
    /// The callers that may use the routes; `nil`: anyone who can connect, except web pages.
    package let callers: [CallerSettings]?
    package let limits: LimitSettings
    /// `nil`: events are only logged.
    package let webhook: WebhookSettings?
    package let log: LogSettings
    /// The names of the environment variables that hold secrets.
    let secretVariables: Set<String>
    /// What the operator should look at, although the configuration works.
    package let warnings: [SettingsFinding]

    /// These settings as a process follows them that began with `started`: what only a restart changes stays.
    package func followed(since started: GatewaySettings) -> GatewaySettings {
        var settings = self
        (settings.listeners, settings.admin, settings.metrics) = (started.listeners, started.admin, started.metrics)
        (settings.login, settings.shutdownGrace) = (started.login, started.shutdownGrace)
        // A gateway that is locked and unlocked opens the store that it had.
        (settings.stateDirectory, settings.store, settings.replica) =
            (started.stateDirectory, started.store, started.replica)
        return settings
    }
}

/// How the gateway authenticates to providers and for accounts: where the secrets come from, never their contents.
extension SettingsSummary {
    static func proof(of provider: ProviderSettings) -> String {
        let secrets = provider.clientSecrets.map(\.origin.description).joined(separator: ", else from ")
        return (secrets.isEmpty ? "" : ", secret from \(secrets)")
            + (provider.privateKey.map { ", \(Self.text($0))" } ?? "")
            + (provider.assertionAudience.token.map { ", assertions for \($0)" } ?? "")
            + (provider.assertionAudience.revocation.map { ", for \($0) at the revocation endpoint" } ?? "")
            + (provider.identity.map { ", shows the certificate in \($0.certificate)" } ?? "")
    }

    /// The values that come from the preset instead of the file.
    static func preset(of provider: ProviderSettings) -> [String] {
        guard let preset = provider.preset else { return [] }
        let filled = preset.filled.isEmpty ? "nothing" : preset.filled.joined(separator: " ")
        return ["  preset \(preset.preset.rawValue) of \(preset.preset.verified) filled \(filled)"]
    }

    static func line(_ account: AccountSettings) -> String {
        let scopes = account.scopes.isEmpty ? "" : ", scopes \(account.scopes.joined(separator: " "))"
        let owner = account.owner.map {
            ", name from \($0.username.origin), password from \($0.password.origin)"
        }
        let assertion = account.assertion.map { assertion in
            ", assertions of \(assertion.issuer)" + (assertion.subject.map { " about \($0)" } ?? "")
                + (assertion.audience.map { " for \($0)" } ?? "") + ", \(Self.text(assertion.key))"
        }
        return
            "\(account.id): \(account.grant.rawValue) at \(account.provider)\(scopes)\(owner ?? "")\(assertion ?? "")"
    }

    static func line(_ family: AccountFamilySettings) -> String {
        let scopes = family.scopes.isEmpty ? "" : ", scopes \(family.scopes.joined(separator: " "))"
        return "\(family.family): \(AccountSettings.Grant.refreshToken.rawValue) at \(family.provider)\(scopes)"
            + ", up to \(family.max) accounts"
    }

    static func line(_ approval: ApprovalSettings) -> String {
        "approvals for \(approval.accounts.joined(separator: " ")), each for \(Quantity.text(approval.duration)), and a request waits "
            + "\(Quantity.text(approval.wait)) for one"
    }

    private static func text(_ key: SigningKeySettings) -> String {
        "\(key.algorithm.rawValue) key from file \(key.file)" + (key.keyID.map { " as \($0)" } ?? "")
    }
}

/// How people can sign in.
extension SettingsSummary {
    static func line(_ login: LoginListenerSettings) -> String {
        "sign-ins come back to \(login.redirectURI), on \(login.address)"
            + (login.tls.map { " over TLS with \($0.certificate)" } ?? "")
    }

    static func signIn(at provider: ProviderSettings) -> String {
        let login = provider.login
        let endpoints = [
            provider.authorizationEndpoint.map { "at \($0)" },
            provider.deviceAuthorizationEndpoint.map { "with device codes from \($0)" },
        ].compactMap { $0 }
        let isComplete = provider.authorizationEndpoint != nil && provider.deviceAuthorizationEndpoint != nil
        let metadata = provider.issuer != nil && !isComplete ? ["as the issuer's metadata says"] : []
        guard provider.canSignIn else { return "  sign-in not possible: authorization_endpoint or issuer is missing" }
        let extra = login.extra.keys.sorted().joined(separator: " ")
        return "  sign-in " + (endpoints + metadata).joined(separator: ", ") + ", back to \(login.redirectURI)"
            + (login.scopes.isEmpty ? "" : ", scopes \(login.scopes.joined(separator: " ")) too")
            + (login.prompt.map { ", prompt \($0)" } ?? "")
            + (extra.isEmpty ? "" : ", requests carry \(extra)")
    }
}
