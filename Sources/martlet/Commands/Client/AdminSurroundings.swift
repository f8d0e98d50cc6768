internal import FoundationEssentials
internal import Glibc
internal import Listening
internal import LocalFiles
internal import Settings

/// What a command finds around it: the environment, files, the configuration.
package struct AdminSurroundings: Sendable {
    /// Where the admin API is and its tokens are, as a configuration says.
    package struct Configured: Equatable, Sendable {
        /// Such as `127.0.0.1:8081`.
        package let address: String
        /// Whether what is sent there stays on this machine.
        package let isLoopback: Bool
        /// Whether TLS is spoken there.
        package let isEncrypted: Bool
        package let tokenFile: String
        /// The path of the link to the latest gateway's socket.
        package let socket: String
        /// Nobody has named the configuration: it was only there.
        package let isFound: Bool

        /// Whether there is a known port that anybody may be sent to, and no certificate to know it by.
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
        /// The users that are trusted to be the gateway's. Where a process of another listens nothing is sent.
        package let owners: Set<UInt32>

        package init(path: String, owners: Set<UInt32>) {
            self.path = path
            self.owners = owners
        }
    }

    /// Variables by their names.
    package let environment: [String: String]
    /// Whether there is a file at a path.
    package let exists: @Sendable (_ path: String) -> Bool
    /// Reads what the configuration at a path says. One that was only found there must be this user's or root's.
    package let configuration: @Sendable (_ path: String, _ isFound: Bool) throws(CommandFailure) -> Configured
    /// Finds the latest gateway's socket by its link; `nil` where there is none for this user. A link that a found
    /// configuration has led to must stand in a directory that is this user's or root's.
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

    /// Those of this process.
    static let system = AdminSurroundings(
        environment: ProcessInfo.processInfo.environment,
        exists: { FileManager.default.fileExists(atPath: $0) },
        configuration: Self.configured,
        socket: Self.socket,
        text: Self.tokenText
    )

    /// Whatever else is wrong with the file, or with what it refers to, is nothing to who only speaks with a gateway that
    /// runs: this user may not even be one who may read its secrets.
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

    /// Root goes where the owner of the directory leads: that user's processes are what it came to speak with.
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
