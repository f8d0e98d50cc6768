internal import ArgumentParser

/// How a command finds the gateway it speaks with.
struct AdminOptions: ParsableArguments {
    @Option(
        name: .customLong("admin"),
        help: ArgumentHelp(
            "Where the gateway's admin API is (default: what the configuration says, else http://127.0.0.1:8081).",
            valueName: "URL"
        )
    )
    var address: String?

    @Option(
        name: .customLong("admin-token-file"),
        help: ArgumentHelp(
            "A file with the admin token (default: MARTLET_ADMIN_TOKEN, else the configuration's token_file).",
            valueName: "file"
        )
    )
    var tokenFile: String?

    @OptionGroup var configuration: ConfigurationOptions

    @Flag(name: .customLong("json"), help: "Print the admin API's answer as it is.")
    var isJSON = false

    /// The gateway that is meant.
    func client(needsToken: Bool = true) throws(CommandFailure) -> AdminClient {
        let access = try AdminAccess(
            address: self.address,
            tokenFile: self.tokenFile,
            configuration: self.configuration.path,
            needsToken: needsToken,
            surroundings: .system
        )
        if access.showsTokenOnTheWay {
            Console.complain(
                "warning: the admin token goes to \(access.address) in the clear; use https:// or a tunnel to loopback"
            )
        }
        return AdminClient(access)
    }
}
