/// A Redis or Valkey database, and how to log in to it.
package struct RedisSettings: Equatable, Sendable {
    /// How to find the primary by Sentinels.
    package struct Sentinels: Equatable, Sendable {
        /// The name of the primary in their configuration.
        package let name: String
        /// `nil`: the default user.
        package let user: String?
        /// `nil`: they ask for none.
        package let password: ClientSecret?
    }

    /// The servers, or the Sentinels if ``sentinels`` is there.
    package let hosts: [DatabaseHost]
    package let sentinels: Sentinels?
    /// The number of the database.
    package let database: Int
    /// `nil`: the default user.
    package let user: String?
    /// `nil`: the server asks for none.
    package let password: ClientSecret?
    /// Whether connections are encrypted, and servers prove their names.
    package let isEncrypted: Bool
    /// A file of root certificates; `nil`: those that the system trusts.
    package let certificateAuthorities: String?
    /// What the names of all keys begin with.
    package let prefix: String

    var summary: String {
        let hosts = self.hosts.text
        let found = self.sentinels.map { "the primary \($0.name) of the Sentinels \(hosts)" } ?? hosts
        return "database \(self.database), keys \(self.prefix)… at \(found) as user \(self.user ?? "default"), "
            + DatabaseHost.encryption(self.isEncrypted, roots: self.certificateAuthorities)
    }
}

extension RedisSettings {
    private static let longestPrefix = 64

    init?(_ section: Section<StoreKey>) {
        let url = section.require(.url) { place in
            place.parsed("a URL") { text throws(ValueError) in try RedisURL(text) }
        }
        let password = section.read(.password) { ClientSecret($0) }
        let sentinelPassword = section.read(.sentinelPassword) { ClientSecret($0) }
        let roots = section.read(.ca) { $0.certificates() }
        let allowsCleartext = section.allows(.allowCleartext)
        let prefix = section.read(.prefix) { place in
            place.parsed { text throws(ValueError) in try Self.prefix(text) }
        }
        guard let url, section.has(.password) == (password != nil),
            section.has(.sentinelPassword) == (sentinelPassword != nil), section.has(.prefix) == (prefix != nil)
        else { return nil }
        // Sentinels on this machine may name a server on another one.
        let isLocal = url.sentinel == nil && url.hosts.allSatisfy(\.isLocal)
        guard url.isEncrypted || allowsCleartext || isLocal else {
            section[.url]?.fault(
                "has redis:// for a host that may not be loopback: records are sealed, but who is in between could read the "
                    + "password, and change or drop what is written; use rediss://, or set allow_cleartext: true"
            )
            return nil
        }
        guard sentinelPassword == nil || url.sentinel != nil else {
            section[.sentinelPassword]?.faultAtKey("has no effect: the URL has no parameter sentinel=NAME")
            return nil
        }
        self.hosts = url.hosts
        self.sentinels = url.sentinel.map { Sentinels(name: $0, user: url.sentinelUser, password: sentinelPassword) }
        self.database = url.database
        self.user = url.user
        self.password = password
        self.isEncrypted = url.isEncrypted
        self.certificateAuthorities = roots
        self.prefix = prefix ?? "martlet:"
    }

    private static func prefix(_ text: String) throws(ValueError) -> String {
        guard text.utf8.count <= Self.longestPrefix, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw ValueError("must be up to \(Self.longestPrefix) printable ASCII characters without spaces")
        }
        return text
    }
}

/// A URL in the form that Redis' own clients take, with several hosts:
/// `rediss://[USER@]HOST[:PORT][,HOST[:PORT]…][/DATABASE][?sentinel=NAME][&sentinel_user=USER]`. With `sentinel`, the hosts
/// are Sentinels.
struct RedisURL {
    let user: String?
    let hosts: [DatabaseHost]
    let database: Int
    let isEncrypted: Bool
    let sentinel: String?
    let sentinelUser: String?

    init(_ text: String) throws(ValueError) {
        let url = try DatabaseURL(text, schemes: ["rediss", "redis"])
        var (sentinel, sentinelUser): (String?, String?)
        for (name, value) in url.parameters {
            switch name {
            case "sentinel": sentinel = value
            case "sentinel_user": sentinelUser = value
            default:
                throw ValueError("has a parameter that is not supported; there are sentinel and sentinel_user")
            }
        }
        guard sentinelUser == nil || sentinel != nil else { throw ValueError("has sentinel_user without sentinel") }
        let database = url.path.map { Int($0) ?? -1 } ?? 0
        guard (0...65_535).contains(database) else {
            throw ValueError("has a database that is not a number: …/0")
        }
        self.user = url.user
        self.hosts = try url.hosts(port: sentinel == nil ? 6_379 : 26_379)
        self.database = database
        self.isEncrypted = url.scheme == "rediss"
        (self.sentinel, self.sentinelUser) = (sentinel, sentinelUser)
    }
}
