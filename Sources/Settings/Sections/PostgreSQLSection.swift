internal import TextCoding

/// A PostgreSQL database, and how to log in to it.
package struct PostgreSQLSettings: Equatable, Sendable {
    /// One of the servers that may hold the database.
    package struct Host: Equatable, Sendable {
        /// A name, an address without brackets, or a directory with a Unix socket, which begins with `/`.
        package let name: String
        package let port: Int
        /// Whether what is sent stays on this machine.
        let isLocal: Bool
    }

    package let hosts: [Host]
    package let user: String
    package let database: String
    /// `nil`: the server asks for none.
    package let password: ClientSecret?
    /// Whether the connection is encrypted, and the server proves its name.
    package let isEncrypted: Bool
    /// A file of root certificates; `nil`: those that the system trusts.
    package let certificateAuthorities: String?

    var summary: String {
        let hosts = self.hosts.map { $0.name.contains(":") ? "[\($0.name)]:\($0.port)" : "\($0.name):\($0.port)" }
        let trust = self.certificateAuthorities.map { "the roots in \($0)" } ?? "the system's roots"
        return "database \(self.database) at \(hosts.joined(separator: " or ")) as user \(self.user), "
            + (self.isEncrypted ? "over TLS with \(trust)" : "not encrypted")
    }
}

extension PostgreSQLSettings {
    init?(_ section: Section<StoreKey>) {
        let url = section.require(.url) { place in
            place.parsed("a URL") { text throws(ValueError) in try PostgreSQLURL(text) }
        }
        let password = section.read(.password) { ClientSecret($0) }
        let roots = section.read(.ca) { $0.certificates() }
        let allowsCleartext = section.allows(.allowCleartext)
        guard let url, section.has(.password) == (password != nil) else { return nil }
        let isEncrypted = url.isEncrypted && !url.hosts.allSatisfy { $0.name.hasPrefix("/") }
        guard isEncrypted || allowsCleartext || url.hosts.allSatisfy(\.isLocal) else {
            section[.url]?.fault(
                "has sslmode=disable for a host that is not loopback: records are sealed, but who is in between could read the "
                    + "password, and change or drop what is written; use TLS, or set allow_cleartext: true"
            )
            return nil
        }
        self.hosts = url.hosts
        self.user = url.user
        self.database = url.database
        self.password = password
        self.isEncrypted = isEncrypted
        self.certificateAuthorities = roots
    }
}

/// A connection URI in PostgreSQL's form (its manual, "Connection URIs"), as far as Martlet uses it:
/// `postgres://USER@HOST[:PORT][,HOST[:PORT]…]/DATABASE[?sslmode=verify-full|disable][&host=/SOCKET/DIRECTORY]`.
struct PostgreSQLURL {
    let user: String
    let hosts: [PostgreSQLSettings.Host]
    let database: String
    let isEncrypted: Bool

    private static let port = 5432

    init(_ text: String) throws(ValueError) {
        let schemes = ["postgres://", "postgresql://"]
        guard let scheme = schemes.first(where: { text.hasPrefix($0) }) else {
            throw ValueError("expected a URL with postgres://")
        }
        let parts = text.dropFirst(scheme.count).split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let target = parts[0].split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard target.count == 2, !target[1].isEmpty else { throw ValueError("names no database: …/DATABASE") }
        let authority = target[0].split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
        guard authority.count == 2, !authority[0].isEmpty else { throw ValueError("names no user: postgres://USER@…") }
        guard !authority[0].contains(":") else {
            throw ValueError("must not hold a password; use password: { file: PATH } or { env: NAME }")
        }
        self.user = try Self.decoded(authority[0])
        self.database = try Self.decoded(target[1])
        var (socket, mode): (String?, String) = (nil, "verify-full")
        for parameter in parts.count == 2 ? parts[1].split(separator: "&") : [] {
            let pair = parameter.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let value = try Self.decoded(pair.count == 2 ? pair[1] : "")
            switch pair[0] {
            case "sslmode": mode = value
            case "host": socket = value
            // Always so.
            case "target_session_attrs" where value == "read-write": break
            default: throw ValueError("has a parameter that is not supported; there are sslmode and host")
            }
        }
        guard ["verify-full", "disable"].contains(mode) else {
            throw ValueError(
                "has an sslmode that does not prove who the server is; there are verify-full (the default) and disable"
            )
        }
        self.isEncrypted = mode == "verify-full"
        if let socket {
            guard authority[1].isEmpty, socket.hasPrefix("/") else {
                throw ValueError("has a parameter host that is no directory of a Unix socket, or another host too")
            }
            self.hosts = [PostgreSQLSettings.Host(name: socket, port: Self.port, isLocal: true)]
        } else {
            self.hosts = try Self.hosts(authority[1])
        }
    }

    private static func hosts(_ text: Substring) throws(ValueError) -> [PostgreSQLSettings.Host] {
        var hosts: [PostgreSQLSettings.Host] = []
        for one in text.split(separator: ",", omittingEmptySubsequences: false) {
            // Colons within brackets belong to an IPv6 address.
            let begin = one.hasPrefix("[") ? one.lastIndex(of: "]") ?? one.endIndex : one.startIndex
            let colon = one[begin...].firstIndex(of: ":") ?? one.endIndex
            let port = colon == one.endIndex ? Self.port : try PortNumber.parse(one[one.index(after: colon)...])
            guard port > 0 else { throw ValueError("has port 0") }
            let host = try NetworkHost(one[..<colon])
            hosts.append(PostgreSQLSettings.Host(name: host.text, port: port, isLocal: host.isLoopback))
        }
        guard hosts.count <= 8 else { throw ValueError("names more than 8 hosts") }
        return hosts
    }

    private static func decoded(_ text: some StringProtocol) throws(ValueError) -> String {
        guard let bytes = PercentCoding.decode(Array(text.utf8).span, isForm: false),
            let decoded = String(validating: bytes, as: UTF8.self), !decoded.isEmpty, !decoded.utf8.contains(0)
        else { throw ValueError("has a part that is empty or not percent-encoded correctly") }
        return decoded
    }
}
