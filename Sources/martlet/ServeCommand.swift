internal import AdminCLI
internal import ArgumentParser
internal import FoundationEssentials
internal import GatewayServer
internal import Logging
internal import Settings
internal import SystemSupport
internal import Telemetry
internal import TextCoding
internal import TokenModel
internal import UnixSignals

/// `martlet serve`: the gateway itself, until it is told to stop.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run the gateway.",
        discussion: """
            Prints where it listens, then serves until SIGTERM or SIGINT; requests under way get shutdown_grace to end.
            SIGHUP reads the configuration again, with all that it refers to; a bad one changes nothing.

            Example:
              martlet serve --config martlet.yaml &
              curl http://127.0.0.1:8080/acme/users
            """
    )

    @OptionGroup var configuration: ConfigurationOptions

    @Flag(
        help: """
            Listen where an older gateway of this user still does, for a restart without a gap: when this one says that it \
            serves, stop the older one with SIGTERM.
            """
    )
    var takeover = false

    @Flag(
        help: """
            Start on a store that is older than this host knows it to have been, such as a backup: kills that it lacks are \
            written back, and what was killed stays dead.
            """
    )
    var acceptOlderStore = false

    func run() async throws {
        DescriptorLimit.raise()
        Hangup.ignore()
        // Trapped before anything is read: a change during the start is applied once the gateway serves.
        let hangups = await UnixSignalsSequence(trapping: .sighup)
        let path = self.configuration.path(in: ProcessInfo.processInfo.environment)
        let settings = try Self.settings(path)
        let (log, threshold) = Self.startLog(settings.log)
        do {
            try await Self.serve(
                settings,
                from: path,
                takesOver: self.takeover,
                acceptsOlderStore: self.acceptOlderStore,
                hangups,
                log,
                threshold
            )
        } catch {
            await Self.end(log)
            throw error
        }
        await Self.end(log)
    }

    /// Ends the log. Entries that its reader doesn't take within 2 s are lost, so that the program ends in any case.
    private static func end(_ log: LogWriter) async {
        _ = await log.close(within: .seconds(2))
    }

    private static func serve(
        _ settings: GatewaySettings,
        from path: String,
        takesOver: Bool,
        acceptsOlderStore: Bool,
        _ hangups: UnixSignalsSequence,
        _ log: LogWriter,
        _ threshold: LogThreshold
    ) async throws {
        let logger = Logger(label: "martlet")
        for warning in settings.warnings {
            logger.warning("the configuration should be looked at", metadata: ["config.finding": "\(warning)"])
        }
        let (gateway, reloader) = try await GatewayAssembly.assemble(
            settings,
            from: path,
            ports: takesOver ? .successor : .first,
            acceptsOlderStore: acceptsOlderStore,
            log: log,
            threshold: threshold,
            logger: logger
        )
        let addresses = gateway.addresses
        let grace = DurationText.text(of: gateway.grace)
        try await gateway.run(onEachOf: hangups, reloader.reload) {
            logger.notice(
                "martlet serves",
                metadata: ["addresses": "\(addresses)", "version": "\(MartletVersion.current)"]
            )
            // In a container, standard output and the log appear as one stream. The announcement waits for the log's
            // first line.
            _ = await log.settle(within: .seconds(2))
            Console.announce("martlet serves \(addresses)")
        } stopping: { requests in
            let line = "stopping, waiting up to \(grace) for \(requests) \(requests == 1 ? "request" : "requests")"
            logger.notice("\(line)")
            // A blocked reader must not keep the gateway from stopping.
            Console.offer(line)
        } abandoning: {
            Console.report("stopped at once by a second signal: provider responses that arrive from now on are lost")
        }
    }

    private static func settings(_ path: String) throws -> GatewaySettings {
        do throws(SettingsError) {
            return try ConfigurationFile.load(path)
        } catch {
            for fault in error.faults { Console.report(fault.description) }
            throw ExitCode(ProgramExit.badConfiguration.rawValue)
        }
    }

    /// From here on, logging never waits for the reader of the log.
    private static func startLog(_ settings: LogSettings) -> (writer: LogWriter, threshold: LogThreshold) {
        let time: @Sendable () -> WallTime = { Timepiece.system.now.wall }
        let writer = LogWriter(to: .standardError, format: LogFormat(settings.format)) {
            LogClock(now: time(), bootNow: .now)
        }
        let threshold = LogThreshold(Logger.Level(settings.level))
        LoggingSystem.bootstrap { _ in QueuedLogHandler(writer, threshold: threshold, clock: time) }
        return (writer, threshold)
    }
}
