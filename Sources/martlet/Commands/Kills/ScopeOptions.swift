internal import ArgumentParser

/// Which tokens a command is about: exactly one of three.
struct ScopeOptions: ParsableArguments {
    @Flag(help: "All tokens of the gateway.") var all = false
    @Option(
        name: .customLong("provider"),
        parsing: .singleValue,
        help: ArgumentHelp("All tokens of one provider.", valueName: "name")
    )
    var providers: [String] = []
    @Option(
        name: .customLong("account"),
        parsing: .singleValue,
        help: ArgumentHelp("The tokens of one account.", valueName: "name")
    )
    var accounts: [String] = []

    func validate() throws {
        // Of several, none must be left out in silence.
        let named = (self.all ? 1 : 0) + self.providers.count + self.accounts.count
        guard named == 1 else { throw ValidationError("name exactly one of --all, --provider and --account, once") }
    }

    /// As the admin API takes it.
    var scope: ScopeReply {
        ScopeReply(all: self.all ? true : nil, provider: self.providers.first, account: self.accounts.first)
    }
}
