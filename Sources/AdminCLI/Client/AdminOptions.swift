internal import ArgumentParser

/// The options that tell a command which gateway to use.
struct AdminOptions: ParsableArguments {
    @Option(
        name: .customLong("admin"),
        help: ArgumentHelp(
            """
            Where the gateway's admin API is (default: its socket in state_dir, else what the configuration says, else \
            http://127.0.0.1:8081).
            """,
            valueName: "URL"
        )
    )
    var address: String?

    @Option(
        name: .customLong("admin-ca"),
        help: ArgumentHelp(
            "A PEM file of those who vouch for the gateway's certificate, with https:// (default: the system's).",
            valueName: "file"
        )
    )
    var authorities: String?

    @Option(
        name: .customLong("admin-token-file"),
        help: ArgumentHelp(
            "A file with the admin token (default: MARTLET_ADMIN_TOKEN; else none by the socket, and elsewhere the configuration's token_file).",
            valueName: "file"
        )
    )
    var tokenFile: String?

    @OptionGroup var configuration: ConfigurationOptions

    @Flag(name: .customLong("json"), help: "Print the admin API's answer as it is.")
    var isJSON = false

    /// A client for the selected gateway.
    ///
    /// - Parameter help: advice if no gateway is there.
    /// - Throws: if there is no token to send, with the message from ``AdminClient/failure(withoutToken:otherwise:)``.
    func client(
        needsToken: Bool = true,
        otherwise help: String = AdminRequest.isItRunning
    ) async throws(CommandFailure) -> AdminClient {
        let access: AdminAccess
        do throws(CommandFailure) {
            access = try self.access(needsToken: needsToken, prefersPort: !needsToken)
        } catch {
            guard needsToken, error.status == .notAllowed else { throw error }
            let stranger = try AdminClient(self.access(needsToken: false), authorities: self.authorities)
            throw await stranger.failure(withoutToken: error, otherwise: help)
        }
        if access.sendsTokenInCleartext {
            Console.complain(
                "warning: the admin token goes to \(access.address) in the clear; use https:// or a tunnel to loopback"
            )
        }
        // JSON output and health checks are read by programs.
        let isForPeople = needsToken && !self.isJSON
        return try AdminClient(access, authorities: self.authorities, reportsGateway: isForPeople)
    }

    private func access(needsToken: Bool, prefersPort: Bool = false) throws(CommandFailure) -> AdminAccess {
        try AdminAccess(
            address: self.address,
            tokenFile: self.tokenFile,
            configuration: self.configuration.path,
            needsToken: needsToken,
            prefersPort: prefersPort,
            surroundings: .system
        )
    }
}

/// The option that selects the configuration file.
package struct ConfigurationOptions: ParsableArguments {
    /// The file that is read if none is named.
    static let defaultPath = "martlet.yaml"

    @Option(
        name: .customLong("config"),
        help: ArgumentHelp("The configuration (default: MARTLET_CONFIG, else martlet.yaml).", valueName: "file")
    )
    var path: String?

    package init() {}

    /// The path of the file: from the option, the environment or the default.
    package func path(in environment: [String: String]) -> String {
        self.path ?? environment["MARTLET_CONFIG"].flatMap { $0.isEmpty ? nil : $0 } ?? Self.defaultPath
    }
}
