internal import LocalFiles
internal import Logging
internal import NIOPosix
internal import ProviderClient
internal import Settings
internal import Telemetry
internal import TokenModel
internal import TokenRefresh

/// The providers of a configuration, ready to be asked.
struct ProviderRoster: Sendable {
    private struct Entry: Sendable {
        let settings: Settings.ProviderSettings
        /// What the file of trusted roots held.
        let authorities: [UInt8]?
        let endpoint: SharedTokenEndpoint
    }

    private let entries: [ProviderID: Entry]

    /// - Parameter old: what runs. Of it those providers are taken over of which nothing is different, neither in the
    ///   configuration nor in the files it names: they keep what they have discovered.
    init(
        _ providers: [Settings.ProviderSettings],
        following old: ProviderRoster? = nil,
        keeper: EndpointKeeper,
        logger: Logger
    ) throws(CommandFailure) {
        var entries: [ProviderID: Entry] = [:]
        for settings in providers {
            // Before the endpoint reads it: what is changed between is seen the next time.
            let authorities = try Self.contents(of: settings.certificateAuthorities, for: settings.id)
            if let entry = old?.entries[settings.id], entry.settings == settings, entry.authorities == authorities {
                entries[settings.id] = entry
            } else {
                let endpoint = keeper.keep(try Self.endpoint(settings, logger))
                entries[settings.id] = Entry(settings: settings, authorities: authorities, endpoint: endpoint)
            }
        }
        self.entries = entries
    }

    /// Those that are asked in another way than by `old`, that are new, or gone.
    func changes(since old: ProviderRoster) -> Set<ProviderID> {
        Set(self.entries.keys).union(old.entries.keys)
            .filter { self.entries[$0]?.endpoint !== old.entries[$0]?.endpoint }
    }

    /// What the accounts are refreshed by.
    func plans(_ accounts: [AccountSettings], counting refreshes: RefreshMeter) -> [AccountPlan] {
        accounts.compactMap { account in
            guard let entry = self.entries[account.provider] else { return nil }
            return AccountPlan(
                account: account.id,
                provider: account.provider,
                grant: account.grant == .clientCredentials ? .clientCredentials : .refreshToken,
                endpoint: MeteredTokenEndpoint(provider: account.provider, shared: entry.endpoint, meter: refreshes),
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

    private static func contents(of file: String?, for provider: ProviderID) throws(CommandFailure) -> [UInt8]? {
        guard let file else { return nil }
        do throws(FileError) {
            return try OpenFile.contents(of: file, limit: 4 << 20)
        } catch {
            throw CommandFailure(.badConfiguration, "provider \(provider): \(file) \(error.message)")
        }
    }
}
