internal import FoundationEssentials
internal import Glibc
internal import Settings
internal import SystemSupport

/// What a command reads from its surroundings: the environment, files, the configuration.
package struct CommandEnvironment: Sendable {
    /// The admin API's address and token file according to a configuration.
    package struct Configured: Equatable, Sendable {
        /// Such as `127.0.0.1:8081`.
        package let address: String
        /// Whether the address is on this machine.
        package let isLoopback: Bool
        /// Whether the address uses TLS.
        package let isEncrypted: Bool
        package let tokenFile: String
        /// The path of the link to the socket of the gateway that started last.
        package let socket: String
        /// Whether the configuration was found in the working directory instead of being named by the user.
        package let isFound: Bool

        /// Whether the port is known, doesn't use TLS, and is on loopback or comes from a configuration that the user
        /// named.
        var hasPort: Bool {
            !self.isEncrypted && !self.address.hasSuffix(":0") && (self.isLoopback || !self.isFound)
        }

        package init(
            address: String,
            isLoopback: Bool = true,
            isEncrypted: Bool = false,
            tokenFile: String,
            socket: String = "/none/admin.sock",
            isFound: Bool = false
        ) {
            self.address = address
            self.isLoopback = isLoopback
            self.isEncrypted = isEncrypted
            self.tokenFile = tokenFile
            self.socket = socket
            self.isFound = isFound
        }
    }

    /// A gateway's Unix socket.
    package struct Socket: Equatable, Sendable {
        package let path: String
        /// The users that the gateway may run as. If a process of another user listens there, nothing is sent.
        package let owners: Set<UInt32>

        package init(path: String, owners: Set<UInt32>) {
            self.path = path
            self.owners = owners
        }
    }

    /// Environment variables by name.
    package let environment: [String: String]
    /// Whether a file exists at a path.
    package let exists: @Sendable (_ path: String) -> Bool
    /// Reads the configuration at a path. A configuration that was only found must belong to this user or root.
    package let configuration: @Sendable (_ path: String, _ isFound: Bool) throws(CommandFailure) -> Configured
    /// Finds the latest gateway's socket through its link; `nil` if there is none for this user. If a found
    /// configuration names the link, the link's directory must belong to this user or root.
    package let socket: @Sendable (_ link: String, _ isFound: Bool) throws(CommandFailure) -> Socket?
    /// Reads the text of a token file.
    package let text: @Sendable (_ path: String) throws(CommandFailure) -> String

    package init(
        environment: [String: String],
        exists: @escaping @Sendable (_ path: String) -> Bool,
        configuration: @escaping @Sendable (_ path: String, _ isFound: Bool) throws(CommandFailure) -> Configured,
        socket: @escaping @Sendable (_ link: String, _ isFound: Bool) throws(CommandFailure) -> Socket?,
        text: @escaping @Sendable (_ path: String) throws(CommandFailure) -> String
    ) {
        self.environment = environment
        self.exists = exists
        self.configuration = configuration
        self.socket = socket
        self.text = text
    }

    /// The surroundings of this process.
    package static let system = CommandEnvironment(
        environment: ProcessInfo.processInfo.environment,
        exists: { FileManager.default.fileExists(atPath: $0) },
        configuration: Self.configured,
        socket: Self.socket,
        text: Self.tokenText
    )

    /// Ignores all other faults of the file and of the files it refers to. They don't matter to a command that only
    /// talks to a running gateway, and this user may not even be allowed to read the secrets.
    private static func configured(_ path: String, isFound: Bool) throws(CommandFailure) -> Configured {
        do throws(SettingsError) {
            let admin = try SettingsFile.loadAdmin(path: path, isFound: isFound)
            let address = admin.address.fromHere
            return Configured(
                address: address.description,
                isLoopback: address.host.isLoopback,
                isEncrypted: admin.tls != nil,
                tokenFile: admin.tokenFile,
                socket: admin.socket,
                isFound: isFound
            )
        } catch {
            let fault = error.faults.first?.description ?? "\(path) can't be read"
            let others = error.faults.count > 1 ? " (and \(error.faults.count - 1) more; see martlet check)" : ""
            throw CommandFailure(
                .badConfiguration,
                "\(fault)\(others); no gateway was asked: with --admin http://HOST:PORT and --admin-token-file FILE, which "
                    + "is admin.token in state_dir, none of the configuration is needed"
            )
        }
    }

    /// For root, the owner of the directory is trusted too: root wants to talk to that user's gateway.
    private static func socket(_ link: String, isFound: Bool) throws(CommandFailure) -> Socket? {
        guard let path = LinkedSocket.path(behind: link) else { return nil }
        let directory = WholeFile.directory(of: link)
        let ownership = try? OpenFile(opening: directory, O_RDONLY | O_DIRECTORY).ownership()
        let user = geteuid()
        if isFound, let ownership, !ownership.isKeptByOwner(from: user) {
            throw CommandFailure(
                .notAllowed,
                """
                \(ConfigurationOptions.defaultPath) here leads to the directory \(directory), which another user owns or others \
                can write (\(ownership.description(for: user))), and nobody has named that file: nothing was sent; --config \
                names it if it is meant
                """
            )
        }
        var owners: Set<UInt32> = [user, 0]
        if user == 0, let ownership { owners.insert(ownership.owner) }
        return Socket(path: path, owners: owners)
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
