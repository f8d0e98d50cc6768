internal import ArgumentParser

/// Which tokens a command is about: exactly one of three.
struct ScopeOptions: ParsableArguments {
    @Flag(help: "All tokens of the gateway.") var all = false
    @Option(help: ArgumentHelp("All tokens of one provider.", valueName: "name")) var provider: String?
    @Option(help: ArgumentHelp("The tokens of one account.", valueName: "name")) var account: String?

    func validate() throws {
        let named = (self.all ? 1 : 0) + (self.provider == nil ? 0 : 1) + (self.account == nil ? 0 : 1)
        guard named == 1 else { throw ValidationError("name exactly one of --all, --provider and --account") }
    }

    /// As the admin API takes it.
    var scope: ScopeReply {
        ScopeReply(all: self.all ? true : nil, provider: self.provider, account: self.account)
    }
}
