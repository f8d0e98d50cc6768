internal import Alerts
internal import Settings

extension WebhookTarget {
    /// The webhook target from the configuration.
    init(_ settings: WebhookSettings) {
        self.init(url: settings.url.text, host: settings.url.host.authority, secret: settings.secret.value)
    }
}
