internal import FoundationEssentials
internal import LocalFiles
internal import Settings

/// What a command finds around it: the environment, files, the configuration.
package struct AdminSurroundings: Sendable {
    /// Where the admin API is and its tokens are, as a configuration says.
    package struct Configured: Equatable, Sendable {
        /// Such as `127.0.0.1:8081`.
        package let address: String
        package let tokenFile: String

        package init(address: String, tokenFile: String) {
            self.address = address
            self.tokenFile = tokenFile
        }
    }

    /// Variables by their names.
    package let environment: [String: String]
    /// Whether there is a file at a path.
    package let exists: @Sendable (_ path: String) -> Bool
    /// Reads what the configuration at a path says.
    package let configuration: @Sendable (_ path: String) throws(CommandFailure) -> Configured
    /// Reads the text of a token file.
    package let text: @Sendable (_ path: String) throws(CommandFailure) -> String

    package init(
        environment: [String: String],
        exists: @escaping @Sendable (_ path: String) -> Bool,
        configuration: @escaping @Sendable (_ path: String) throws(CommandFailure) -> Configured,
        text: @escaping @Sendable (_ path: String) throws(CommandFailure) -> String
    ) {
        self.environment = environment
        self.exists = exists
        self.configuration = configuration
        self.text = text
    }

    /// Those of this process.
    static let system = AdminSurroundings(
        environment: ProcessInfo.processInfo.environment,
        exists: { FileManager.default.fileExists(atPath: $0) },
        configuration: Self.configured,
        text: Self.tokenText
    )

    /// Whatever else is wrong with the file, or with what it refers to, is nothing to who only speaks with a gateway that
    /// runs: this user may not even be one who may read its secrets.
    private static func configured(_ path: String) throws(CommandFailure) -> Configured {
        do throws(SettingsError) {
            let admin = try SettingsFile.loadAdmin(path: path)
            return Configured(address: admin.address.description, tokenFile: admin.tokenFile)
        } catch {
            let fault = error.faults.first?.description ?? "\(path) can't be read"
            let others = error.faults.count > 1 ? " (and \(error.faults.count - 1) more; see martlet check)" : ""
            throw CommandFailure(
                .badConfiguration,
                "\(fault)\(others); with --admin and --admin-token-file the configuration is not needed"
            )
        }
    }

    private static func tokenText(_ path: String) throws(CommandFailure) -> String {
        do throws(FileError) {
            try SecretFile.checkMode(of: path)
        } catch {
            throw CommandFailure(.badConfiguration, "\(path) \(error.message): it holds admin tokens")
        }
        do {
            return try String(contentsOfFile: path, encoding: .utf8)
        } catch {
            let cause =
                switch (error as? CocoaError)?.code {
                case .fileReadNoSuchFile: "there is no such file"
                case .fileReadNoPermission: "this user may not read it"
                default: "it can't be read as text"
                }
            throw CommandFailure(
                .notAllowed,
                "no admin token from \(path): \(cause); name the gateway's with --admin-token-file or set "
                    + "MARTLET_ADMIN_TOKEN"
            )
        }
    }
}
