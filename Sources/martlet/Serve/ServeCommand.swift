internal import AdminAPI
internal import ArgumentParser
internal import FoundationEssentials
internal import Logging
internal import Settings

/// `martlet serve`: the gateway itself, until it is told to stop.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run the gateway.",
        discussion: """
            Prints where it listens, then serves until SIGTERM or SIGINT; requests under way get shutdown_grace to end.

            Example:
              martlet serve --config martlet.yaml &
              curl http://127.0.0.1:8080/acme/users
            """
    )

    @OptionGroup var configuration: ConfigurationOptions

    func run() async throws {
        try MemoryGuard.raise()
        DescriptorLimit.raise()
        Hangup.ignore()
        let settings = try self.settings()
        let logger = Self.startLogging(settings.log)
        for warning in settings.warnings {
            logger.warning("the configuration should be looked at", metadata: ["config.finding": "\(warning)"])
        }
        let gateway = try await Assembly.assemble(settings, logger: logger)
        let addresses = "callers: \(gateway.callers.joined(separator: " ")), admin: http://\(gateway.admin.address)"
        try await gateway.run { Console.announce("martlet serves \(addresses)") }
    }

    private func settings() throws -> GatewaySettings {
        let path = self.configuration.path(in: ProcessInfo.processInfo.environment)
        do throws(SettingsError) {
            return try SettingsFile.load(path: path)
        } catch {
            for fault in error.faults { Console.report(fault.description) }
            throw ExitCode(ProgramExit.badConfiguration.rawValue)
        }
    }

    private static func startLogging(_ settings: LogSettings) -> Logger {
        let level: Logger.Level =
            switch settings.level {
            case .trace: .trace
            case .debug: .debug
            case .info: .info
            case .warning: .warning
            case .error: .error
            }
        LoggingSystem.bootstrap { label in
            var handler = StreamLogHandler.standardError(label: label)
            handler.logLevel = level
            return handler
        }
        return Logger(label: "martlet")
    }
}
