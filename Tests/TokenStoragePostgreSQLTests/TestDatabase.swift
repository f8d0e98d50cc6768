import TestKit
import TokenModel
import TokenStoragePostgreSQL

/// A new database on a server, and how to reach it.
struct TestDatabase {
    let host: PostgreSQLTestServer
    let name: String
    private let directory: TemporaryDirectory
    private let roots: String

    /// - Parameter host: `nil` takes the server that tests share.
    init(on host: PostgreSQLTestServer? = nil, owner: String = PostgreSQLTestServer.user) async throws {
        self.host = if let host { host } else { try await PostgreSQLTestServer.shared() }
        self.name = try await self.host.makeDatabase(owner: owner)
        self.directory = try TemporaryDirectory()
        self.roots = try self.host.roots(in: self.directory)
    }

    var server: PostgreSQLServer { self.server() }

    func server(
        hosts: [PostgreSQLServer.Host]? = nil,
        address: String = "127.0.0.1",
        database: String? = nil,
        password: String = PostgreSQLTestServer.password,
        encryption: PostgreSQLServer.Encryption? = nil
    ) -> PostgreSQLServer {
        PostgreSQLServer(
            hosts: hosts ?? [PostgreSQLServer.Host(name: address, port: self.host.port)],
            database: database ?? self.name,
            user: PostgreSQLTestServer.user,
            password: Secret(password),
            encryption: encryption ?? .verified(roots: self.roots)
        )
    }
}
