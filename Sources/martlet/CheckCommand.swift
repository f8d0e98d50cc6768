internal import AdminCLI
internal import ArgumentParser
internal import FoundationEssentials
internal import GatewayServer
internal import Settings

/// `martlet check`.
struct CheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Read the configuration and print what it means.",
        discussion: """
            Needs no running gateway, and makes nothing. Exits with 78 and all faults when the configuration has some, or \
            when the admin token file is there and serve would refuse it: run it as the user that serve runs as.

            With --online it asks each provider's issuer for its metadata, too, and sends no token: exits with 78 where that \
            can't be used, and with 69 where nobody answers.

            Example:
              martlet check --config martlet.yaml
              martlet check --online
            """
    )

    @OptionGroup var configuration: ConfigurationOptions

    @Flag(help: "Ask the providers' issuers for their metadata, too; sends no token.")
    var online = false

    func run() async throws {
        let path = self.configuration.path(in: ProcessInfo.processInfo.environment)
        let settings: GatewaySettings
        do throws(SettingsError) {
            settings = try ConfigurationFile.load(path)
        } catch {
            for fault in error.faults { Console.report(fault.description) }
            throw ExitCode(ProgramExit.badConfiguration.rawValue)
        }
        let failures = ConfigurationFile.startErrors(of: settings)
        for failure in failures { Console.report("\(path): \(failure.message)") }
        if let failure = failures.first { throw ExitCode(ProgramExit(failure.code).rawValue) }
        Console.say(SettingsSummary(settings).description)
        guard self.online else { return }
        let findings = try await ProviderSurvey.ask(settings.providers)
        Console.say(
            (["providers, as asked now:"] + findings.flatMap(\.lines).map { "  " + $0 }).joined(separator: "\n")
        )
        let complaints = findings.flatMap(\.complaints)
        for complaint in complaints { Console.report(complaint.message) }
        let isMisconfigured = complaints.contains { $0.code == .badConfiguration }
        if let code = isMisconfigured ? .badConfiguration : complaints.first?.code {
            throw ExitCode(ProgramExit(code).rawValue)
        }
    }
}
