import TestKit
import TokenModel
import TokenStoragePostgreSQL

/// A new database on a server, and how to reach it.
struct TestDatabase {
    let host: PostgreSQLTestServer
    let name: String
    /// The file with the certificate of the server's authority.
    var roots: String { self.host.roots }

    /// - Parameter host: `nil` takes the server that tests share.
    init(on host: PostgreSQLTestServer? = nil, owner: String = PostgreSQLTestServer.user) async throws {
        self.host = if let host { host } else { try await PostgreSQLTestServer.shared() }
        self.name = try await self.host.makeDatabase(owner: owner)
    }

    var server: PostgreSQLServer { self.server() }

    func server(
        hosts: [PostgreSQLServer.Host]? = nil,
        address: String = "127.0.0.1",
        database: String? = nil,
        password: String = PostgreSQLTestServer.password
    ) -> PostgreSQLServer {
        PostgreSQLServer(
            hosts: hosts ?? [PostgreSQLServer.Host(name: address, port: self.host.port)],
            database: database ?? self.name,
            user: PostgreSQLTestServer.user,
            password: Secret(password),
            encryption: .verified(roots: self.roots)
        )
    }

    /// The same for another process, which can't have this value.
    static func server(port: Int, database: String, roots: String) -> PostgreSQLServer {
        PostgreSQLServer(
            hosts: [PostgreSQLServer.Host(name: "127.0.0.1", port: port)],
            database: database,
            user: PostgreSQLTestServer.user,
            password: Secret(PostgreSQLTestServer.password),
            encryption: .verified(roots: roots)
        )
    }

    /// Runs statements in the database as a superuser.
    @discardableResult
    func sql(_ text: String) async throws -> String { try await self.host.sql(text, in: self.name) }
}
