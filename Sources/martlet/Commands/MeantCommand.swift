internal import ArgumentParser
internal import TokenModel

/// Finds the command that was probably meant by arguments that name none.
enum MeantCommand {
    /// What to say of the first word that is no command; `nil` where every word there is one, or it is like none.
    ///
    /// - Parameters:
    ///   - arguments: as the program was given them, and could not take them.
    ///   - root: the command whose subcommands the first of them names.
    static func complaint(about arguments: [String], of root: any ParsableCommand.Type) -> String? {
        var commands = root.configuration.subcommands
        var path: [String] = []
        for word in arguments {
            // What follows is no command's name.
            guard !word.hasPrefix("-") else { return nil }
            let typed = (path + [word]).joined(separator: " ")
            if let other = Self.others[typed] { return "there is no command \(typed); did you mean \(other)?" }
            // What follows is what a command takes.
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

    /// What to say where a command was named that only has others, and none of those; `nil` for one that does something.
    static func complaint(aboutNoneOf command: any ParsableCommand.Type) -> String? {
        let configuration = command.configuration
        let names = configuration.subcommands.compactMap { $0.configuration.commandName }
        guard let last = names.last else { return nil }
        let root = Martlet.configuration.commandName ?? ""
        let name = configuration.commandName ?? root
        let typed = name == root ? root : "\(root) \(name)"
        let choice = names.count == 1 ? last : "\(names.dropLast().joined(separator: ", ")) or \(last)"
        return "\(typed) takes a command: \(choice); see \(typed) --help"
    }

    /// What is typed because other commands have it, and what does that.
    private static let others = [
        "audit list": "audit", "audit show": "audit",
        "callers list": Self.checking, "callers show": Self.checking,
        "kills list": "kills", "kills show": "kills",
        "status show": "status",
    ]

    private static let checking = "check, which shows the callers that the configuration names"
}
