internal import AdminCLI
internal import ArgumentParser
internal import GatewayServer

/// The program: `martlet` and its commands.
@main
struct Martlet: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "martlet",
        abstract: "A gateway that puts a fresh bearer token on every request.",
        discussion: """
            Callers talk plain HTTP to the gateway; it holds the OAuth tokens and refreshes them unseen.

            Example:
              martlet check --config martlet.yaml
              martlet serve --config martlet.yaml
              martlet login alice
              curl http://127.0.0.1:8080/acme/users

            Exit codes:
              0   done
              1   it ran, and the answer is no; or what it printed is lost
              64  wrong arguments or input, such as a name that nobody knows
              69  the gateway can't be reached, or a port is busy
              77  not allowed, such as with a wrong admin token
              78  the configuration is bad
            """,
        version: MartletVersion.current,
        subcommands: [ServeCommand.self, CheckCommand.self] + AdminCommands.all
    )

    /// Runs the command that the arguments name. A failure prints one line on standard error and sets the exit code.
    static func main() async {
        Console.holdDescriptors()
        // A browser that `login` opens may need a helper with other rights.
        if CommandLine.arguments.dropFirst().first != "login" { MemoryGuard.forbidNewRights() }
        do {
            // For every command: nearly all of them hold a token or a key, if only in their environment.
            try MemoryGuard.raise()
            try await self.obey()
            try Console.finish()
            RespondingGateway.tell()
        } catch let failure as CommandFailure {
            self.fail(failure)
        } catch let error as StartError {
            self.fail(CommandFailure(error))
        } catch {
            // Not a parse error. A command that throws an exit code has already printed its messages.
            let code = self.exitCode(for: error)
            guard code == .validationFailure else { self.exit(withError: error) }
            let message = self.message(for: error).split(whereSeparator: \.isNewline).joined(separator: " ")
            let meant = CommandSuggestion.complaint(about: Array(CommandLine.arguments.dropFirst()), of: Martlet.self)
            Console.complain(meant ?? "\(message); see --help")
            self.exit(withError: code)
        }
    }

    private static func fail(_ failure: CommandFailure) -> Never {
        Console.complain(failure.message)
        self.exit(withError: ExitCode(failure.status.rawValue))
    }

    private static func obey() async throws {
        do {
            var command = try await self.asyncParseAsRoot()
            if let complaint = CommandSuggestion.complaint(aboutNoneOf: type(of: command), of: Martlet.self) {
                throw CommandFailure(.usage, complaint)
            }
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch let error where self.exitCode(for: error) == .success {
            // Help or the version. The parser would print this text as well, but would not notice that the output is
            // lost.
            let text = self.fullMessage(for: error, columns: nil)
            if !text.isEmpty { Console.say(text) }
        }
    }
}
