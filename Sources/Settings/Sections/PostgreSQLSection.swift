internal import TextCoding

/// A PostgreSQL database, and how to log in to it.
package struct PostgreSQLSettings: Equatable, Sendable {
    package let hosts: [DatabaseHost]
    package let user: String
    package let database: String
    /// `nil`: the server asks for none.
    package let password: ClientSecret?
    /// Whether the connection is encrypted, and the server proves its name.
    package let isEncrypted: Bool
    /// A file of root certificates; `nil`: those that the system trusts.
    package let certificateAuthorities: String?

    var summary: String {
        "database \(self.database) at \(self.hosts.text) as user \(self.user), "
            + DatabaseHost.encryption(self.isEncrypted, roots: self.certificateAuthorities)
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
    let hosts: [DatabaseHost]
    let database: String
    let isEncrypted: Bool

    private static let port = 5432

    init(_ text: String) throws(ValueError) {
        let url = try DatabaseURL(text, schemes: ["postgres", "postgresql"])
        guard let database = url.path else { throw ValueError("names no database: …/DATABASE") }
        guard let user = url.user else { throw ValueError("names no user: postgres://USER@…") }
        (self.user, self.database) = (user, database)
        var (socket, mode): (String?, String) = (nil, "verify-full")
        for (name, value) in url.parameters {
            switch name {
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
            guard url.authority.isEmpty, socket.hasPrefix("/") else {
                throw ValueError("has a parameter host that is no directory of a Unix socket, or another host too")
            }
            self.hosts = [DatabaseHost(name: socket, port: Self.port, isLocal: true)]
        } else {
            self.hosts = try url.hosts(port: Self.port)
        }
    }
}
