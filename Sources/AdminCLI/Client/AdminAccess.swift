internal import AdminAPI
internal import FoundationEssentials
internal import Settings
package import TokenModel

/// The address of a gateway's admin API, and the token for it.
package struct AdminAccess: Sendable {
    /// `http://host:port` without a trailing slash; or `unix:` and the path of ``socket``.
    package var address: String { self.socket.map { "unix:\($0.path)" } ?? self.url }
    private let url: String
    /// The gateway's Unix socket, which is preferred to its port; `nil` if there is none, or if another address is
    /// given. A gateway that has started again has another one.
    package var socket: CommandEnvironment.Socket? { self.first.map { (try? self.findSocket()) ?? $0 } }
    private let first: CommandEnvironment.Socket?
    private let findSocket: @Sendable () throws(CommandFailure) -> CommandEnvironment.Socket?
    /// Where the token comes from, for the message that it was wrong: a file's path, or the name of a variable; `nil`
    /// if no token was needed.
    package let tokenOrigin: String?
    private let token: Secret?
    /// The token that a port would require. It is not sent, because the socket needs none.
    private let unsentToken: Secret?

    /// Finds the address and the token on the command line, in the environment, in the configuration, or at their
    /// defaults. The configuration is read only if it is needed.
    ///
    /// The gateway's socket needs no token. A token is sent there only if the user named one.
    ///
    /// - Parameters:
    ///   - address: the value of `--admin`.
    ///   - tokenFile: the value of `--admin-token-file`.
    ///   - configuration: the value of `--config`.
    ///   - prefersPort: use the port if it is known, and send no token. Several processes may share one state
    ///     directory, and the socket belongs to the latest of them. A health check means the gateway in its own
    ///     container.
    package init(
        address: String?,
        tokenFile: String?,
        configuration: String?,
        needsToken: Bool,
        prefersPort: Bool = false,
        surroundings: CommandEnvironment
    ) throws(CommandFailure) {
        let variable = surroundings.environment[Self.tokenVariable].flatMap { $0.isEmpty ? nil : $0 }
        let needsFile = needsToken && tokenFile == nil && variable == nil
        let configured =
            address == nil || needsFile ? try Self.configured(configuration, in: surroundings) : nil

        let asksPort = prefersPort && (configured?.hasPort ?? true)
        let socket = address == nil && !asksPort ? try Self.socket(configured, in: surroundings) : nil
        self.first = socket
        self.findSocket = { () throws(CommandFailure) in try Self.socket(configured, in: surroundings) }
        self.url =
            if let address {
                try Self.checked(address)
            } else if socket != nil {
                ""
            } else if let configured {
                try Self.address(configured)
            } else {
                Self.standard
            }
        if needsToken, tokenFile == nil, let variable {
            self.tokenOrigin = Self.tokenVariable
            self.token = try Self.token(in: variable, from: Self.tokenVariable)
            self.unsentToken = nil
        } else if needsToken, socket == nil || tokenFile != nil {
            let path =
                if let tokenFile {
                    tokenFile
                } else {
                    try Self.madeTokenFile(configured, in: surroundings)
                }
            self.tokenOrigin = path
            self.token = try Self.token(in: surroundings.text(path), from: path)
            self.unsentToken = nil
        } else {
            self.tokenOrigin = nil
            self.token = nil
            self.unsentToken =
                needsToken
                ? (try? Self.madeTokenFile(configured, in: surroundings)).flatMap { path in
                    try? Self.token(in: surroundings.text(path), from: path)
                } : nil
        }
    }

    /// The value of the `Authorization` field for the API.
    ///
    /// - Returns: `nil` if no token is sent, because the gateway asks the kernel who connects.
    /// - Throws: ``ProgramExit/notAllowed`` if no token was loaded.
    package func authorization() throws(CommandFailure) -> String? {
        guard let token = self.token else {
            guard self.first == nil else { return nil }
            throw CommandFailure(.notAllowed, "there is no admin token to send")
        }
        return token.withUnredacted { bytes in
            var text = "Bearer "
            for index in bytes.indices { text.unicodeScalars.append(Unicode.Scalar(bytes[index])) }
            return text
        }
    }

    /// Whether `token` is the admin token rather than an account's token.
    package func isOpened(by token: Secret) -> Bool { (self.token ?? self.unsentToken) == token }

    /// Whether the token travels unencrypted to another machine.
    package var sendsTokenInCleartext: Bool {
        guard self.token != nil, let url = URL(string: self.address), url.scheme == "http" else { return false }
        return !NetworkHost.isLoopback(url.host() ?? "")
    }

    /// The environment variable that holds the token if no file is named.
    package static let tokenVariable = "MARTLET_ADMIN_TOKEN"

    private static let standard = "http://127.0.0.1:8081"

    /// The settings from the named configuration, or from the one that a gateway started in this directory would read;
    /// `nil` if there is neither. A configuration that the user did not name may come from anybody, for example from
    /// the owner of the directory.
    private static func configured(
        _ path: String?,
        in surroundings: CommandEnvironment
    ) throws(CommandFailure) -> CommandEnvironment.Configured? {
        let named = path ?? surroundings.environment["MARTLET_CONFIG"].flatMap { $0.isEmpty ? nil : $0 }
        if let named { return try surroundings.configuration(named, false) }
        guard surroundings.exists(ConfigurationOptions.defaultPath) else { return nil }
        return try surroundings.configuration(ConfigurationOptions.defaultPath, true)
    }

    /// The socket of the configured gateway, or of a gateway without a configuration.
    private static func socket(
        _ configured: CommandEnvironment.Configured?,
        in surroundings: CommandEnvironment
    ) throws(CommandFailure) -> CommandEnvironment.Socket? {
        let link = configured?.socket ?? Self.standardDirectory(surroundings.environment).map { "\($0)/admin.sock" }
        guard let link else { return nil }
        return try surroundings.socket(link, configured?.isFound ?? false)
    }

    private static func address(_ configured: CommandEnvironment.Configured) throws(CommandFailure) -> String {
        guard configured.isLoopback || !configured.isFound else {
            throw CommandFailure(
                .badConfiguration,
                "\(ConfigurationOptions.defaultPath) here says that the gateway is at \(configured.address), on another "
                    + "machine, and nobody has named that file: nothing was sent; --config names it if it is meant"
            )
        }
        return "\(configured.isEncrypted ? "https" : "http")://\(configured.address)"
    }

    private static func checked(_ address: String) throws(CommandFailure) -> String {
        let failure = CommandFailure(.usage, "--admin takes a URL such as \(Self.standard), without a path or query")
        guard let url = URL(string: address), let scheme = url.scheme, let host = url.host(), !host.isEmpty,
            scheme == "http" || scheme == "https", url.path().isEmpty || url.path() == "/",
            url.query() == nil, url.fragment() == nil, url.user() == nil, url.password() == nil
        else { throw failure }
        // The HTTP client would ignore an invalid port and send the token to the scheme's default port.
        guard Self.hasSoundPort(address) else {
            throw CommandFailure(.usage, "--admin: what is behind the last colon is no port from 1 to 65535")
        }
        return address.hasSuffix("/") ? String(address.dropLast()) : address
    }

    /// Whether a URL without a path has a valid port or none.
    private static func hasSoundPort(_ address: String) -> Bool {
        let authority = address.drop { $0 != "/" }.drop { $0 == "/" }.prefix { $0 != "/" }
        // Colons within brackets belong to an IPv6 address.
        let tail = authority.lastIndex(of: "]").map { authority[$0...] } ?? authority
        guard let colon = tail.lastIndex(of: ":") else { return true }
        let port = tail[tail.index(after: colon)...]
        return port.allSatisfy { $0.isASCII && $0.isNumber } && UInt16(port).map { $0 > 0 } ?? false
    }

    /// The token file that a gateway creates at its first start.
    private static func madeTokenFile(
        _ configured: CommandEnvironment.Configured?,
        in surroundings: CommandEnvironment
    ) throws(CommandFailure) -> String {
        let path =
            if let configured { configured.tokenFile } else { try Self.standardTokenFile(surroundings.environment) }
        guard !surroundings.exists(path) else { return path }
        guard configured != nil else {
            throw CommandFailure(
                .notAllowed,
                "no \(ConfigurationOptions.defaultPath) here, and no admin token at \(path): name the gateway's "
                    + "configuration with --config FILE"
            )
        }
        throw CommandFailure(
            .notAllowed,
            "there is no admin token at \(path), where martlet serve makes it, or this user may not look there: name the "
                + "gateway's with --admin-token-file or set MARTLET_ADMIN_TOKEN"
        )
    }

    private static func standardTokenFile(_ environment: [String: String]) throws(CommandFailure) -> String {
        if let directory = Self.standardDirectory(environment) { return "\(directory)/admin.token" }
        throw CommandFailure(
            .notAllowed,
            "no admin token: name its file with --admin-token-file, or set MARTLET_ADMIN_TOKEN"
        )
    }

    /// The state directory of a gateway without `state_dir`.
    private static func standardDirectory(_ environment: [String: String]) -> String? {
        if let state = environment["XDG_STATE_HOME"], state.hasPrefix("/") { return "\(state)/martlet" }
        if let home = environment["HOME"], home.hasPrefix("/") { return "\(home)/.local/state/martlet" }
        return nil
    }

    /// The token of the first operator, or else the first token: a file may hold several, all of them valid.
    private static func token(in text: String, from origin: String) throws(CommandFailure) -> Secret {
        let lines = text.split(whereSeparator: \.isNewline)
        let entries = lines.compactMap { line in try? AdminTokenLine(line.utf8).entry }
        guard let entry = entries.first(where: { $0.administrator.role == .operator }) ?? entries.first,
            entries.count == lines.count
        else {
            throw CommandFailure(
                .notAllowed,
                "\(origin) holds no admin token: a line is one, or a name, a role and one, of printable characters"
            )
        }
        return entry.token
    }
}
