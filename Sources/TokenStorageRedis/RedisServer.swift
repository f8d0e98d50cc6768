internal import NIOCore
internal import NIOSSL
package import TokenModel

/// Where a Redis or Valkey database is, and who logs in to it.
package struct RedisServer: Sendable {
    /// A server that may hold the database, or a Sentinel.
    package struct Host: Equatable, Sendable {
        /// A host name, or an IP address without brackets.
        package let name: String
        package let port: Int

        package init(name: String, port: Int) {
            self.name = name
            self.port = port
        }

        /// The host as in a URL.
        package var text: String {
            self.name.contains(":") ? "[\(self.name)]:\(self.port)" : "\(self.name):\(self.port)"
        }

        /// Whether the name is an IP address, which TLS does not send (RFC 6066 §3) and verifies as an address.
        var isAddress: Bool { (try? SocketAddress(ipAddress: self.name, port: self.port)) != nil }
    }

    /// How the connection is encrypted.
    package enum Encryption: Equatable, Sendable {
        /// TLS, with a certificate that names the host and that these roots (a PEM file) vouch for; `nil`: those that the
        /// system trusts.
        case verified(roots: String?)
        /// None.
        case none
    }

    /// The Sentinels' name for a group of servers, and how to log in to them.
    package struct Sentinels: Sendable {
        /// The name of the primary in `sentinel monitor`.
        package let name: String
        /// `nil` for the default user.
        package let user: String?
        /// `nil` if the Sentinels ask for none.
        package let password: Secret?

        package init(name: String, user: String? = nil, password: Secret? = nil) {
            self.name = name
            self.user = user
            self.password = password
        }
    }

    /// The servers, of which the primary is used; with ``sentinels``, the Sentinels that know it.
    package let hosts: [Host]
    package let sentinels: Sentinels?
    /// The number of the database; 0 in a cluster.
    package let database: Int
    /// `nil` for the default user.
    package let user: String?
    /// `nil` if the server asks for none.
    package let password: Secret?
    package let encryption: Encryption
    /// What the names of Martlet's keys and of its channel begin with.
    package let prefix: String

    package init(
        hosts: [Host],
        sentinels: Sentinels? = nil,
        database: Int = 0,
        user: String?,
        password: Secret?,
        encryption: Encryption,
        prefix: String = "martlet:"
    ) {
        self.hosts = hosts
        self.sentinels = sentinels
        self.database = database
        self.user = user
        self.password = password
        self.encryption = encryption
        self.prefix = prefix
    }

    /// The name of the store in messages, such as `cache:6379/0`.
    package var name: String { "\(self.hosts.map(\.text).joined(separator: ","))/\(self.database)" }

    /// Whether a cluster keeps all keys of this prefix on one node (Redis Cluster specification, "Hash tags").
    var hasHashTag: Bool {
        guard let open = self.prefix.firstIndex(of: "{") else { return false }
        let tag = self.prefix[self.prefix.index(after: open)...]
        return tag.firstIndex(of: "}").map { $0 > tag.startIndex } ?? false
    }

    /// What TLS needs; `nil` without TLS. Files are read anew, so that renewed roots count from the next connection on.
    ///
    /// - Throws: ``SessionError`` if the file of roots can't be used.
    func tls() throws(SessionError) -> NIOSSLContext? {
        guard case .verified(let roots) = self.encryption else { return nil }
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.certificateVerification = .fullVerification
        // A server that hangs does not say farewell. Replies have lengths, so nothing is lost without it.
        configuration.shutdownTimeout = .milliseconds(50)
        if let roots { configuration.trustRoots = .file(roots) }
        do {
            return try NIOSSLContext(configuration: configuration)
        } catch {
            throw SessionError("\(roots ?? "the system's store") holds no certificates that can be read", .untrusted)
        }
    }
}
