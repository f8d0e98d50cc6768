internal import Settings

/// The configuration that the gateway follows.
struct RunningConfiguration: Sendable {
    let settings: GatewaySettings
    /// The providers of these settings.
    let providers: ProviderRegistry
}
