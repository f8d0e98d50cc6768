internal import Settings

/// What the gateway goes by.
struct RunningConfiguration: Sendable {
    let settings: GatewaySettings
    /// Of the settings.
    let providers: ProviderRegistry
}
