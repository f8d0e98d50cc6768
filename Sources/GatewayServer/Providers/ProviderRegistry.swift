internal import KillSwitch
internal import Logging
internal import NIOPosix
internal import ProviderClient
internal import Settings
internal import SystemSupport
internal import Telemetry
internal import TokenModel
internal import TokenRefresh
internal import TokenStorage

/// The endpoints of the configured providers.
struct ProviderRegistry: Sendable {
    private struct Entry: Sendable {
        let settings: Settings.ProviderSettings
        /// The contents of the files that each new endpoint reads again: roots, certificate and key.
        let files: [Secret?]
        let endpoint: SharedTokenEndpoint
    }

    private let entries: [ProviderID: Entry]
    /// The grants of the accounts whose tokens are minted.
    private let mints: [AccountID: MintGrant]
    /// The providers that somebody can sign in at for an account.
    private let signInProviders: Set<ProviderID>

    /// - Parameter old: the registry in use. Providers whose settings and files are unchanged are taken from it, with
    ///   the metadata that they have discovered.
    init(
        _ configuration: GatewaySettings,
        following old: ProviderRegistry? = nil,
        keeper: EndpointKeeper,
        logger: Logger
    ) throws(StartError) {
        var entries: [ProviderID: Entry] = [:]
        for settings in configuration.providers {
            // Read before the endpoint reads the same files: a change between the two reads is noticed at the next
            // reload.
            let files = try [settings.certificateAuthorities, settings.identity?.certificate, settings.identity?.key]
                .map { file throws(StartError) in try Self.contents(of: file, for: settings.id) }
            if let entry = old?.entries[settings.id], entry.settings == settings, entry.files == files {
                entries[settings.id] = entry
            } else {
                let endpoint = keeper.keep(try Self.endpoint(settings, logger))
                entries[settings.id] = Entry(settings: settings, files: files, endpoint: endpoint)
            }
        }
        self.entries = entries
        var mints: [AccountID: MintGrant] = [:]
        for account in configuration.accounts { mints[account.id] = try MintGrant(account) }
        self.mints = mints
        let canSignIn = Set(configuration.providers.filter(\.canSignIn).map(\.id))
        let signedIn = configuration.accounts.filter { $0.grant == .refreshToken }.map(\.provider)
        self.signInProviders = canSignIn.intersection(signedIn + configuration.families.map(\.provider))
    }

    /// The providers that are new, removed, or have another endpoint than in `old`.
    func changes(since old: ProviderRegistry) -> Set<ProviderID> {
        Set(self.entries.keys).union(old.entries.keys)
            .filter { self.entries[$0]?.endpoint !== old.entries[$0]?.endpoint }
    }

    /// The endpoint that revokes tokens made for `binding`; `nil` if the tokens would go to another issuer or client.
    /// It retains its connections.
    func endpoint(of binding: AccountRecord.Binding) -> (any TokenEndpoint)? {
        guard let shared = self.entries[binding.provider]?.endpoint else { return nil }
        let configured = shared.endpoint.binding
        guard binding.clientID == configured.clientID, binding.issuer.match(configured.issuer) == .same else {
            return nil
        }
        return RevokingTokenEndpoint(shared: shared, issuer: binding.issuer)
    }

    /// The same endpoint, and how often this process asks it to revoke.
    func revocation(of binding: AccountRecord.Binding) -> RevocationTarget? {
        guard let endpoint = self.endpoint(of: binding), let settings = self.entries[binding.provider]?.settings else {
            return nil
        }
        let rate = settings.revokeRate
        return RevocationTarget(endpoint: endpoint, rate: RequestRate(perSecond: rate.perSecond, burst: rate.burst))
    }

    /// A value for each provider that somebody can sign in at, from its settings and its endpoint.
    func forEachSignInProvider<Value>(
        _ make: (Settings.ProviderSettings, SharedTokenEndpoint) -> Value
    ) -> [ProviderID: Value] {
        self.entries.filter { self.signInProviders.contains($0.key) }.mapValues { make($0.settings, $0.endpoint) }
    }

    /// The refresh engine's configuration of the accounts that are configured by name.
    func plans(_ accounts: [AccountSettings], counting refreshes: RefreshMeter) -> [AccountConfiguration] {
        accounts.compactMap { account in
            self.plan(
                account.id,
                at: account.provider,
                AccountGrant(account.grant),
                scopes: account.scopes,
                mint: self.mints[account.id],
                counting: refreshes
            )
        }
    }

    /// The refresh engine's configuration of the families.
    func families(
        _ families: [AccountFamilySettings],
        counting refreshes: RefreshMeter
    ) -> [AccountFamilyConfiguration] {
        families.compactMap { family in
            let member = self.plan(
                AccountID(family.family.description),
                at: family.provider,
                .refreshToken,
                scopes: family.scopes,
                mint: nil,
                counting: refreshes
            )
            return member.map { AccountFamilyConfiguration(family.family, member: $0, max: family.max) }
        }
    }

    private func plan(
        _ account: AccountID,
        at provider: ProviderID,
        _ grant: AccountGrant,
        scopes: [String],
        mint: MintGrant?,
        counting refreshes: RefreshMeter
    ) -> AccountConfiguration? {
        guard let entry = self.entries[provider] else { return nil }
        return AccountConfiguration(
            account: account,
            provider: provider,
            grant: grant,
            endpoint: MeteredTokenEndpoint(
                provider: provider,
                shared: entry.endpoint,
                meter: refreshes,
                grant: mint ?? .clientCredentials
            ),
            endpointID: ObjectIdentifier(entry.endpoint),
            scopes: scopes,
            defaultLifetime: entry.settings.defaultLifetime,
            timing: RefreshTiming(
                mode: entry.settings.refresh == .ahead ? .ahead : .onExpiry,
                keepAlive: entry.settings.keepAlive
            ),
            rate: RefreshRate(
                perSecond: entry.settings.refreshRate.perSecond,
                burst: entry.settings.refreshRate.burst
            )
        )
    }

    private static func endpoint(
        _ provider: Settings.ProviderSettings,
        _ logger: Logger
    ) throws(StartError) -> HTTPTokenEndpoint {
        let settings = try ProviderClient.ProviderSettings(provider)
        do throws(ProviderSettingsError) {
            return try HTTPTokenEndpoint(
                settings,
                on: MultiThreadedEventLoopGroup.singleton,
                logger: logger
            )
        } catch {
            throw StartError(error, provider: provider.id)
        }
    }

    private static func contents(of file: String?, for provider: ProviderID) throws(StartError) -> Secret? {
        guard let file else { return nil }
        do throws(FileError) {
            return Secret(try OpenFile.contents(of: file, limit: 4 << 20))
        } catch {
            throw StartError(.badConfiguration, "provider \(provider): \(file) \(error.message)")
        }
    }
}
