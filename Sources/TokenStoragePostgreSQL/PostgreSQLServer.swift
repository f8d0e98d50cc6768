package import TokenModel

/// Where a database is, and who logs in to it.
package struct PostgreSQLServer: Sendable {
    /// One server of those that may hold the database. The primary among them is used.
    package struct Host: Equatable, Sendable {
        /// A host name, an IP address without brackets, or a directory with a Unix socket, which begins with `/`.
        package let name: String
        package let port: Int

        package init(name: String, port: Int) {
            self.name = name
            self.port = port
        }

        var text: String { self.name.contains(":") ? "[\(self.name)]:\(self.port)" : "\(self.name):\(self.port)" }
    }

    /// How the connection is encrypted.
    package enum Encryption: Equatable, Sendable {
        /// TLS, with a certificate that names the host and that these roots (a PEM file) vouch for.
        case verified(roots: String)
        /// None.
        case none
    }

    package let hosts: [Host]
    package let database: String
    package let user: String
    /// `nil` if the server asks for none, as on a Unix socket.
    package let password: Secret?
    package let encryption: Encryption

    package init(hosts: [Host], database: String, user: String, password: Secret?, encryption: Encryption) {
        self.hosts = hosts
        self.database = database
        self.user = user
        self.password = password
        self.encryption = encryption
    }

    /// The name of the database in messages, such as `db1:5432/martlet`.
    package var name: String { "\(self.hosts.map(\.text).joined(separator: ","))/\(self.database)" }

    /// The parameters of a connection to `host`, as libpq names them. Without the password.
    ///
    /// A parameter that is not named here may come from the environment (PostgreSQL, "Environment Variables").
    func parameters(for host: Host) -> [(name: String, value: String)] {
        var parameters = [
            ("host", host.name), ("port", String(host.port)), ("dbname", self.database), ("user", self.user),
            ("passfile", "/dev/null/none"), ("application_name", "martlet"), ("client_encoding", "UTF8"),
            ("target_session_attrs", "read-write"), ("gssencmode", "disable"),
            // An idle connection whose server is gone is noticed after about 20 s. Calls have time limits of their own.
            ("keepalives_idle", "10"), ("keepalives_interval", "3"), ("keepalives_count", "3"),
        ]
        switch self.encryption {
        case .verified(let roots):
            parameters += [
                ("sslmode", "verify-full"), ("sslrootcert", roots), ("ssl_min_protocol_version", "TLSv1.2"),
            ]
        case .none:
            parameters.append(("sslmode", "disable"))
        }
        return parameters
    }
}
