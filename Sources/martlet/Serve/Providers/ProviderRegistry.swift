internal import LocalFiles
internal import Logging
internal import NIOPosix
internal import ProviderClient
internal import Settings
internal import Telemetry
internal import TokenModel
internal import TokenRefresh
internal import TokenStorage

/// The providers of a configuration, ready to be asked.
struct ProviderRegistry: Sendable {
    private struct Entry: Sendable {
        let settings: Settings.ProviderSettings
        /// What the files held that it names and that are read anew for each endpoint: roots, certificate and key.
        let files: [Secret?]
        let endpoint: SharedTokenEndpoint
    }

    private let entries: [ProviderID: Entry]
    /// What tokens are minted by, of accounts whose tokens are.
    private let mints: [AccountID: MintGrant]

    /// - Parameter old: what runs. Of it those providers are taken over of which nothing is different, neither in the
    ///   configuration nor in the files it names: they keep what they have discovered.
    init(
        _ configuration: GatewaySettings,
        following old: ProviderRegistry? = nil,
        keeper: EndpointKeeper,
        logger: Logger
    ) throws(CommandFailure) {
        var entries: [ProviderID: Entry] = [:]
        for settings in configuration.providers {
            // Before the endpoint reads it: what is changed between is seen the next time.
            let files = try [settings.certificateAuthorities, settings.identity?.certificate, settings.identity?.key]
                .map { file throws(CommandFailure) in try Self.contents(of: file, for: settings.id) }
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
    }

    /// Those that are asked in another way than by `old`, that are new, or gone.
    func changes(since old: ProviderRegistry) -> Set<ProviderID> {
        Set(self.entries.keys).union(old.entries.keys)
            .filter { self.entries[$0]?.endpoint !== old.entries[$0]?.endpoint }
    }

    /// Where tokens that were made for somebody are revoked; `nil` where they would go to somebody else. Its connections
    /// stay for as long as it is held.
    func endpoint(of binding: AccountRecord.Binding) -> (any TokenEndpoint)? {
        guard let shared = self.entries[binding.provider]?.endpoint else { return nil }
        let configured = shared.endpoint.binding
        guard binding.clientID == configured.clientID, binding.issuer.match(configured.issuer) == .same else {
            return nil
        }
        return RevokingTokenEndpoint(shared: shared, issuer: binding.issuer)
    }

    /// What the accounts are refreshed by.
    func plans(_ accounts: [AccountSettings], counting refreshes: RefreshMeter) -> [AccountConfiguration] {
        accounts.compactMap { account in
            guard let entry = self.entries[account.provider] else { return nil }
            return AccountConfiguration(
                account: account.id,
                provider: account.provider,
                grant: AccountGrant(account.grant),
                endpoint: MeteredTokenEndpoint(
                    provider: account.provider,
                    shared: entry.endpoint,
                    meter: refreshes,
                    grant: self.mints[account.id] ?? .clientCredentials
                ),
                endpointID: ObjectIdentifier(entry.endpoint),
                scopes: account.scopes,
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
    }

    private static func endpoint(
        _ provider: Settings.ProviderSettings,
        _ logger: Logger
    ) throws(CommandFailure) -> HTTPTokenEndpoint {
        let settings = try ProviderClient.ProviderSettings(provider)
        do throws(ProviderSettingsError) {
            return try HTTPTokenEndpoint(
                settings,
                on: MultiThreadedEventLoopGroup.singleton,
                now: { Timepiece.system.now.wall },
                logger: logger
            )
        } catch {
            throw CommandFailure(error, provider: provider.id)
        }
    }

    private static func contents(of file: String?, for provider: ProviderID) throws(CommandFailure) -> Secret? {
        guard let file else { return nil }
        do throws(FileError) {
            return Secret(try OpenFile.contents(of: file, limit: 4 << 20))
        } catch {
            throw CommandFailure(.badConfiguration, "provider \(provider): \(file) \(error.message)")
        }
    }
}
