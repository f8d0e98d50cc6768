internal import Alerts
internal import Settings

extension WebhookTarget {
    /// What the configuration says of who is told of events.
    init(_ settings: WebhookSettings) {
        self.init(url: settings.url.text, host: settings.url.host.authority, secret: settings.secret.value)
    }
}
