internal import Logging
internal import Settings
internal import Telemetry

extension Logger.Level {
    init(_ level: LogSettings.Level) {
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
    init(_ format: LogSettings.Format) {
        self =
            switch format {
            case .json: .json
            case .text: .text
            }
    }
}
