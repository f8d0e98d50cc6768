import TestKit
import TokenModel
import TokenStorageRedis

/// A new set of records on a server, and how to reach it.
struct TestRecords {
    let host: RedisTestServer
    let prefix: String
    /// The file with the certificate of the server's authority.
    var roots: String { self.host.roots }

    /// - Parameter host: `nil` takes the server that tests share.
    init(on host: RedisTestServer? = nil) async throws {
        self.host = if let host { host } else { try await RedisTestServer.shared() }
        self.prefix = "\(RedisTestServer.prefix)\(UInt64.random(in: .min ... .max)):"
    }

    var server: RedisServer { self.server() }

    func server(
        hosts: [RedisServer.Host]? = nil,
        address: String = "127.0.0.1",
        sentinels: RedisServer.Sentinels? = nil,
        database: Int = 0,
        user: String? = RedisTestServer.user,
        password: String = RedisTestServer.password,
        roots: String? = nil,
        prefix: String? = nil
    ) -> RedisServer {
        RedisServer(
            hosts: hosts ?? [RedisServer.Host(name: address, port: self.host.port)],
            sentinels: sentinels,
            database: database,
            user: user,
            password: Secret(password),
            encryption: .verified(roots: roots ?? self.roots),
            prefix: prefix ?? self.prefix
        )
    }

    /// The same for another process, which can't have this value.
    static func server(port: Int, prefix: String, roots: String) -> RedisServer {
        RedisServer(
            hosts: [RedisServer.Host(name: "127.0.0.1", port: port)],
            user: RedisTestServer.user,
            password: Secret(RedisTestServer.password),
            encryption: .verified(roots: roots),
            prefix: prefix
        )
    }

    /// The name of the hash.
    var records: String { "\(self.prefix)records" }
    /// The name of the sorted set.
    var keys: String { "\(self.prefix)keys" }
}
