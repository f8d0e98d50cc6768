internal import FoundationEssentials
package import TokenModel

/// Where a gateway's admin API is, and the token that opens it.
package struct AdminAccess: Sendable {
    /// `http://host:port`, without a slash at the end.
    package let address: String
    /// Where the token is from, for who has to be told that it was the wrong one: a file's path, or the name of a
    /// variable; `nil` where none was asked for.
    package let tokenOrigin: String?
    private let token: Secret?

    /// Finds both: on the command line, in the environment, in the configuration, or at their defaults. The
    /// configuration is read only where it is needed.
    ///
    /// - Parameters:
    ///   - address: as given by `--admin`.
    ///   - tokenFile: as given by `--admin-token-file`.
    ///   - configuration: as given by `--config`.
    package init(
        address: String?,
        tokenFile: String?,
        configuration: String?,
        needsToken: Bool,
        surroundings: AdminSurroundings
    ) throws(CommandFailure) {
        let variable = surroundings.environment[Self.tokenVariable].flatMap { $0.isEmpty ? nil : $0 }
        let needsFile = needsToken && tokenFile == nil && variable == nil
        let configured =
            address == nil || needsFile ? try Self.configured(configuration, in: surroundings) : nil

        self.address =
            if let address {
                try Self.checked(address)
            } else if let configured {
                "http://\(configured.address)"
            } else {
                Self.standard
            }
        guard needsToken else {
            self.tokenOrigin = nil
            self.token = nil
            return
        }
        if tokenFile == nil, let variable {
            self.tokenOrigin = Self.tokenVariable
            self.token = try Self.token(in: variable, from: Self.tokenVariable)
        } else {
            let path =
                if let tokenFile {
                    tokenFile
                } else {
                    try Self.madeTokenFile(configured, in: surroundings)
                }
            self.tokenOrigin = path
            self.token = try Self.token(in: surroundings.text(path), from: path)
        }
    }

    /// The value of an `Authorization` field that opens the API.
    ///
    /// - Throws: ``ProgramExit/notAllowed`` where no token was asked for.
    package func authorization() throws(CommandFailure) -> String {
        guard let token = self.token else { throw CommandFailure(.notAllowed, "there is no admin token to send") }
        return token.withUnredacted { bytes in
            var text = "Bearer "
            for index in bytes.indices { text.unicodeScalars.append(Unicode.Scalar(bytes[index])) }
            return text
        }
    }

    /// Whether `token` is the one that opens the API, and no account's.
    package func isOpened(by token: Secret) -> Bool { self.token == token }

    /// Whether somebody between here and the gateway could read the token.
    package var showsTokenOnTheWay: Bool {
        guard self.token != nil, let url = URL(string: self.address), url.scheme == "http" else { return false }
        let host = url.host() ?? ""
        return host != "localhost" && host != "::1" && host != "[::1]" && !host.hasPrefix("127.")
    }

    /// Has the token, where no file is named.
    package static let tokenVariable = "MARTLET_ADMIN_TOKEN"

    private static let standard = "http://127.0.0.1:8081"

    /// What the named configuration says, or the one that a gateway started here would read; `nil` without either.
    private static func configured(
        _ path: String?,
        in surroundings: AdminSurroundings
    ) throws(CommandFailure) -> AdminSurroundings.Configured? {
        let named = path ?? surroundings.environment["MARTLET_CONFIG"].flatMap { $0.isEmpty ? nil : $0 }
        if let named { return try surroundings.configuration(named) }
        guard surroundings.exists(ConfigurationOptions.defaultPath) else { return nil }
        return try surroundings.configuration(ConfigurationOptions.defaultPath)
    }

    private static func checked(_ address: String) throws(CommandFailure) -> String {
        let failure = CommandFailure(.usage, "--admin takes a URL such as \(Self.standard), without a path or query")
        guard let url = URL(string: address), let scheme = url.scheme, let host = url.host(), !host.isEmpty,
            scheme == "http" || scheme == "https", url.path().isEmpty || url.path() == "/",
            url.query() == nil, url.fragment() == nil, url.user() == nil, url.password() == nil
        else { throw failure }
        // A port that is none would be left out, and the token go to the scheme's own.
        guard Self.hasSoundPort(address) else {
            throw CommandFailure(.usage, "--admin: what is behind the last colon is no port from 1 to 65535")
        }
        return address.hasSuffix("/") ? String(address.dropLast()) : address
    }

    /// Whether the address of a URL without a path has no port, or one there can be.
    private static func hasSoundPort(_ address: String) -> Bool {
        let authority = address.drop { $0 != "/" }.drop { $0 == "/" }.prefix { $0 != "/" }
        // Colons within brackets are an IPv6 address's.
        let tail = authority.lastIndex(of: "]").map { authority[$0...] } ?? authority
        guard let colon = tail.lastIndex(of: ":") else { return true }
        let port = tail[tail.index(after: colon)...]
        return port.allSatisfy { $0.isASCII && $0.isNumber } && UInt16(port).map { $0 > 0 } ?? false
    }

    /// The file that a gateway makes at its first start.
    private static func madeTokenFile(
        _ configured: AdminSurroundings.Configured?,
        in surroundings: AdminSurroundings
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

    /// Where a gateway without a `state_dir` keeps its own.
    private static func standardTokenFile(_ environment: [String: String]) throws(CommandFailure) -> String {
        if let state = environment["XDG_STATE_HOME"], state.hasPrefix("/") { return "\(state)/martlet/admin.token" }
        if let home = environment["HOME"], home.hasPrefix("/") { return "\(home)/.local/state/martlet/admin.token" }
        throw CommandFailure(
            .notAllowed,
            "no admin token: name its file with --admin-token-file, or set MARTLET_ADMIN_TOKEN"
        )
    }

    /// The first token: a file may hold several, all valid.
    private static func token(in text: String, from origin: String) throws(CommandFailure) -> Secret {
        let lines = text.split(whereSeparator: \.isNewline)
        guard let line = lines.first, line.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw CommandFailure(.notAllowed, "\(origin) holds no admin token: printable characters without spaces")
        }
        return Secret(String(line))
    }
}
