package import Logging
package import Settings
package import Telemetry

extension Logger.Level {
    package init(_ level: LogSettings.Level) {
        self =
            switch level {
            case .trace: .trace
            case .debug: .debug
            case .info: .info
            case .warning: .warning
            case .error: .error
            }
    }
}

extension LogFormat {
    package init(_ format: LogSettings.Format) {
        self =
            switch format {
            case .json: .json
            case .text: .text
            }
    }
}

extension WebhookTarget {
    /// The webhook target from the configuration.
    init(_ settings: WebhookSettings) {
        self.init(url: settings.url.text, host: settings.url.host.authority, secret: settings.secret.value)
    }
}
