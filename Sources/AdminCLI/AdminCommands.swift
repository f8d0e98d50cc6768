package import ArgumentParser
internal import TokenModel

/// The commands of the program beside `serve` and `check`. Most of them talk to a running gateway's admin API; `store`
/// and `audit --store` open the store themselves, `callers new` and `admin new` only print.
package enum AdminCommands {
    /// In the order of `martlet --help`.
    package static let all: [any ParsableCommand.Type] = [
        LoginCommand.self, AccountsCommand.self, KillCommand.self, ReviveCommand.self, KillsCommand.self,
        LockCommand.self, UnlockCommand.self, ApproveCommand.self, ReplicasCommand.self, CacheCommand.self,
        CallersCommand.self, AdminCommand.self, StatusCommand.self, HealthCommand.self, StoreCommand.self,
        AuditCommand.self,
    ]
}

/// Suggests a command when the arguments name an unknown one.
package enum CommandSuggestion {
    /// The message about the first word that is not a command; `nil` if all words are commands, or if no command is
    /// similar.
    ///
    /// - Parameters:
    ///   - arguments: the program's arguments, which the parser rejected.
    ///   - root: the command whose subcommands the first argument names.
    package static func complaint(about arguments: [String], of root: any ParsableCommand.Type) -> String? {
        var commands = root.configuration.subcommands
        var path: [String] = []
        for word in arguments {
            // An option: no command names follow it.
            guard !word.hasPrefix("-") else { return nil }
            let typed = (path + [word]).joined(separator: " ")
            if let other = Self.others[typed] { return "there is no command \(typed); did you mean \(other)?" }
            // This command has no subcommands: the remaining words are its arguments.
            guard !commands.isEmpty else { return nil }
            guard let command = commands.first(where: { $0.configuration.commandName == word }) else {
                let names = commands.compactMap { $0.configuration.commandName }
                guard let meant = Suggestion.closest(to: word, among: names) else { return nil }
                let group = path.map { "\($0) " }.joined()
                return "there is no command \(typed); did you mean \(group)\(meant)?"
            }
            path.append(word)
            commands = command.configuration.subcommands
        }
        return nil
    }

    /// The message for a command group that was named without one of its subcommands; `nil` for a command that runs.
    package static func complaint(
        aboutNoneOf command: any ParsableCommand.Type,
        of root: any ParsableCommand.Type
    ) -> String? {
        let configuration = command.configuration
        let names = configuration.subcommands.compactMap { $0.configuration.commandName }
        guard let last = names.last else { return nil }
        let root = root.configuration.commandName ?? ""
        let name = configuration.commandName ?? root
        let typed = name == root ? root : "\(root) \(name)"
        let choice = names.count == 1 ? last : "\(names.dropLast().joined(separator: ", ")) or \(last)"
        return "\(typed) takes a command: \(choice); see \(typed) --help"
    }

    /// Commands that people type because other groups have them, and the command that does the same.
    private static let others = [
        "audit list": "audit", "audit show": "audit",
        "cache clear": "cache purge", "cache flush": "cache purge", "cache show": "cache", "cache status": "cache",
        "callers list": Self.checking, "callers show": Self.checking,
        "kills list": "kills", "kills show": "kills",
        "status show": "status",
    ]

    private static let checking = "check, which shows the callers that the configuration names"
}
