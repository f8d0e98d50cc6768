internal import AdminAPI
internal import Logging
internal import NIOPosix
internal import Proxy
internal import Settings
internal import Synchronization
internal import SystemSupport
internal import Telemetry
internal import TokenModel

/// The part of a gateway that stays as long as the process runs: what answers callers and operators, whether or not the
/// store is open.
struct GatewayFront: Sendable {
    let acceptsOlderStore: Bool
    let log: LogWriter
    let logger: Logger
    let startedAt = Timepiece.system.now.wall
    let name: String
    let metrics: ProgramMetrics
    let status = ReloadStatus()
    let room: DescriptorUsage
    let budget: DescriptorBudget
    let credentials: EngineCredentials
    let proxy: ProxyServer
    let webhook: Webhook
    /// What operators act on.
    let gateway: CurrentGateway
    fileprivate let state: FrontState

    init(
        _ settings: GatewaySettings,
        acceptsOlderStore: Bool,
        log: LogWriter,
        logger: Logger
    ) async throws(StartError) {
        self.acceptsOlderStore = acceptsOlderStore
        self.log = log
        self.logger = logger
        let name = settings.replica.name ?? HostName.text
        self.name = name
        self.metrics = ProgramMetrics(settings)
        self.room = DescriptorUsage(
            limit: DescriptorLimit.current,
            used: DescriptorLimit.used,
            eventLoops: EventLoopCount.standard,
            listeners: settings.listeners.count
        )
        self.budget = self.room.budget(wanted: settings.limits.connections)
        self.credentials = EngineCredentials()
        self.proxy = await ProxyServer(
            try ProxyConfiguration(
                settings,
                connections: self.budget.connections,
                eventLoops: EventLoopCount.standard
            ),
            credentials: self.credentials,
            accessLog: settings.log.access ? log : nil,
            logger: logger,
            isLocked: true
        )
        let state = FrontState(settings)
        self.state = state
        self.webhook = Webhook(
            settings.webhook.map(WebhookTarget.init),
            replica: name,
            on: MultiThreadedEventLoopGroup.singleton,
            family: { state.family(of: $0) },
            logger: logger
        )
        self.gateway = CurrentGateway(name: name)
    }

    /// The configuration that the gateway follows.
    var settings: GatewaySettings { self.state.settings }

    /// The configured provider of an account, or of its family; `nil` if there is none.
    func provider(of account: AccountID) -> ProviderID? {
        self.state.provider(of: account)
    }

    /// Follows other settings from now on.
    func follow(_ settings: GatewaySettings) { self.state.follow(settings) }

    /// The open part; `nil` while the gateway is locked.
    var part: OpenPart? { self.state.part }

    /// Lets callers and operators use `part`.
    func connect(to part: OpenPart) {
        self.state.part = part
        self.credentials.connect(to: part.engine, part.kills, part.approvals)
        self.gateway.replace(with: part.gateway)
    }
}

extension GatewayFront {
    /// Keeps callers and operators from the open part, which goes on. From the return of this method on, no request gets a
    /// token.
    ///
    /// - Returns: how many requests have theirs already.
    func close() async -> Int {
        self.gateway.replace(with: nil)
        self.credentials.disconnect()
        return await self.proxy.lock()
    }

    /// Drops the open part, after ``close()``.
    func disconnect() { self.state.part = nil }
}

/// What changes in a front while the process runs.
private final class FrontState: Sendable {
    private struct Current {
        let settings: GatewaySettings
        /// Kept, because it takes long to make for many accounts.
        let providers: AccountMap<ProviderID>
        var part: OpenPart?

        init(_ settings: GatewaySettings, _ part: OpenPart?) {
            (self.settings, self.providers, self.part) = (settings, settings.accountProviders, part)
        }
    }

    private let current: Mutex<Current>

    init(_ settings: GatewaySettings) { self.current = Mutex(Current(settings, nil)) }

    var settings: GatewaySettings { self.current.withLock { $0.settings } }
    func follow(_ settings: GatewaySettings) { self.current.withLock { $0 = Current(settings, $0.part) } }

    func provider(of account: AccountID) -> ProviderID? { self.current.withLock { $0.providers[account] } }
    func family(of account: AccountID) -> AccountFamily? { self.current.withLock { $0.providers.family(of: account) } }

    var part: OpenPart? {
        get { self.current.withLock { $0.part } }
        set { self.current.withLock { $0.part = newValue } }
    }
}
