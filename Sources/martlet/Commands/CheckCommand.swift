internal import ArgumentParser
internal import FoundationEssentials
internal import Settings

/// `martlet check`.
struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Read the configuration and print what it means.",
        discussion: """
            Needs no running gateway. Exits with 78 and all faults when the configuration has some.

            Example:
              martlet check --config martlet.yaml
            """
    )

    @OptionGroup var configuration: ConfigurationOptions

    func run() throws {
        let path = self.configuration.path(in: ProcessInfo.processInfo.environment)
        do throws(SettingsError) {
            Console.say(SettingsSummary(try SettingsFile.load(path: path)).description)
        } catch {
            for fault in error.faults { Console.report(fault.description) }
            throw ExitCode(ProgramExit.badConfiguration.rawValue)
        }
    }
}
