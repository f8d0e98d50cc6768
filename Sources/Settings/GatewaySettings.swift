/// All that a configuration file says, with the defaults filled in and every path absolute.
///
/// Plain values: nothing here opens, binds or calls. That the references hold (each route's account, each account's
/// provider) was checked when it was read.
package struct GatewaySettings: Equatable, Sendable {
    /// Where callers connect; at least one. Without ``callers`` all are on loopback or Unix sockets.
    package let listeners: [ListenerSettings]
    package let admin: AdminSettings
    /// `nil`: metrics are on the admin listener alone.
    package let metrics: MetricsSettings?
    /// The directory for what the gateway writes. It may not exist yet.
    package let stateDirectory: String
    package let store: StoreSettings
    package let replica: ReplicaSettings
    /// How long in-flight requests may go on after SIGTERM.
    package let shutdownGrace: Duration
    /// In the order of the file, as the accounts and routes.
    package let providers: [ProviderSettings]
    package let accounts: [AccountSettings]
    package let routes: [RouteSettings]
    /// Who may use the routes; `nil`: anyone who can connect, but for web pages.
    package let callers: [CallerSettings]?
    package let limits: LimitSettings
    /// `nil`: events are in the log alone.
    package let webhook: WebhookSettings?
    package let log: LogSettings
    /// What the operator should look at, though it keeps nothing from working.
    package let warnings: [SettingsFinding]
}
