import TestKit
import Testing
import TokenModel
import TokenStorage
import TokenStorageRedis

@Suite(.needsRedis) struct RedisTokenStoreOpeningTests {
    private let records: TestRecords

    init() async throws { self.records = try await TestRecords() }

    @Test func `eight that open a new database at once make one mark`() async throws {
        let server = self.records.server
        let stores = try await withThrowingTaskGroup { group in
            for _ in 0..<8 { group.addTask { try await RedisTokenStore.open(server) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }

        try await TokenStoreContract.countUp(.canary, in: stores[0])
        for store in stores { #expect(try await store.read(.canary)?.version == .first) }
        #expect(try await self.records.host.command("HLEN", self.records.records) == "2\n")
    }

    @Test func `a store that is opened again has its records`() async throws {
        let first = try await RedisTokenStore.open(self.records.server)
        try await TokenStoreContract.countUp(.canary, in: first)
        await first.close()

        let second = try await RedisTokenStore.open(self.records.server, createsMissing: false)
        #expect(try await second.read(.canary)?.version == .first)
    }

    @Test func `a command makes no records`() async throws {
        await self.expect(.unreadable, "the database has no records of Martlet yet") { () async throws(StoreError) in
            _ = try await RedisTokenStore.open(self.records.server, createsMissing: false)
        }
        #expect(try await self.records.host.command("EXISTS", self.records.records) == "0\n")
    }

    @Test func `a server that is not there is unreachable, and the message names each host`() async throws {
        let server = self.records.server(hosts: [
            RedisServer.Host(name: "127.0.0.1", port: 1), RedisServer.Host(name: "::1", port: 1),
        ])
        await self.expect(.unreachable, "127.0.0.1:1: ", "[::1]:1: ") {
            () async throws(StoreError) in _ = try await RedisTokenStore.open(server)
        }
    }

    @Test func `a name that nobody knows is unreachable`() async throws {
        let server = self.records.server(hosts: [RedisServer.Host(name: "nowhere.invalid", port: 1)])
        await self.expect(.unreachable, "the name nowhere.invalid can't be resolved") {
            () async throws(StoreError) in _ = try await RedisTokenStore.open(server)
        }
    }

    @Test func `a wrong password is refused, and not shown`() async throws {
        let server = self.records.server(password: "another-password")
        let error = await self.expect(.unwritable, "WRONGPASS", "store.password") {
            () async throws(StoreError) in _ = try await RedisTokenStore.open(server)
        }
        #expect(error?.message.contains("another-password") == false)
        #expect(!"\(server)".contains("another-password"))
    }

    @Test func `a user without a password is not taken for the default user`() async throws {
        let host = try await RedisTestServer()
        try await host.command("ACL", "SETUSER", "guest", "on", "nopass", "-@all")
        let server = { (user: String?) in
            RedisServer(
                hosts: [RedisServer.Host(name: "127.0.0.1", port: host.port)],
                user: user,
                password: nil,
                encryption: .verified(roots: host.roots)
            )
        }
        await self.expect(.unwritable, "ACL SETUSER") { () async throws(StoreError) in
            _ = try await RedisTokenStore.open(server("guest"))
        }
        // This server's default user may do anything.
        try await TokenStoreContract.countUp(.canary, in: try await RedisTokenStore.open(server(nil)))
    }

    @Test func `a user without rights is told so before anything is written`() async throws {
        let host = try await RedisTestServer()
        let records = try await TestRecords(on: host)
        for right in [
            "hmget", "hset", "hdel", "zadd", "zrem", "zscore", "publish", "wait", "subscribe", "info", "eval",
        ] {
            try await host.command("ACL", "SETUSER", RedisTestServer.user, "-\(right)")
            await self.expect(.unwritable, "ACL SETUSER") { () async throws(StoreError) in
                _ = try await RedisTokenStore.open(records.server)
            }
            try await host.command("ACL", "SETUSER", RedisTestServer.user, "+\(right)")
        }
        let store = try await RedisTokenStore.open(records.server)
        #expect(try await store.records(under: .all, after: nil, limit: 1) == [])
    }

    @Test func `a certificate of an unknown authority is refused`() async throws {
        let directory = try TemporaryDirectory()
        let roots = try write(TestCertificates.selfSigned, to: directory.path(of: "roots.pem"))
        await self.expect(.unwritable, "certificate is not trusted", "store.ca") { () async throws(StoreError) in
            _ = try await RedisTokenStore.open(self.records.server(roots: roots))
        }
    }

    @Test func `a file without certificates is refused`() async throws {
        await self.expect(.unwritable, "/nowhere.pem holds no certificates") { () async throws(StoreError) in
            _ = try await RedisTokenStore.open(self.records.server(roots: "/nowhere.pem"))
        }
    }

    @Test func `a certificate of another host is refused`() async throws {
        // The server listens there too, and its certificate is for the address 127.0.0.1.
        let server = self.records.server(address: "127.0.0.2")
        await self.expect(.unwritable, "certificate is for another host", "store.ca") {
            () async throws(StoreError) in _ = try await RedisTokenStore.open(server)
        }
    }

    @Test func `a server that does not encrypt is refused, and used where that is allowed`() async throws {
        let port = try LoopbackPort.free()
        let host = try await RedisTestServer(settings: ["port \(port)"])
        let records = try await TestRecords(on: host)
        let hosts = [RedisServer.Host(name: "127.0.0.1", port: port)]
        // It takes the beginning of TLS for a command, and waits for its end.
        await self.expect(.unreachable) { () async throws(StoreError) in
            _ = try await RedisTokenStore.open(records.server(hosts: hosts))
        }

        let store = try await RedisTokenStore.open(
            RedisServer(
                hosts: hosts,
                user: RedisTestServer.user,
                password: Secret(RedisTestServer.password),
                encryption: .none
            )
        )
        try await TokenStoreContract.countUp(.canary, in: store)
    }

    @Test func `a server that may drop records is refused`() async throws {
        let host = try await RedisTestServer(settings: ["maxmemory-policy allkeys-lru"])
        let records = try await TestRecords(on: host)
        await self.expect(.unwritable, "maxmemory-policy", "noeviction", "allkeys-lru") {
            () async throws(StoreError) in _ = try await RedisTokenStore.open(records.server)
        }
    }

    @Test func `a replica is no primary`() async throws {
        let primary = try await RedisTestServer()
        let replica = try await primary.makeReplica()
        let records = try await TestRecords(on: replica)
        await self.expect(.unreachable, "the server is a replica") { () async throws(StoreError) in
            _ = try await RedisTokenStore.open(records.server)
        }

        // Named together with its primary, it does no harm
        let hosts = [replica, primary].map { RedisServer.Host(name: "127.0.0.1", port: $0.port) }
        let store = try await RedisTokenStore.open(records.server(hosts: hosts))
        try await TokenStoreContract.countUp(.canary, in: store)
    }

    @Test func `a database of another number has records of its own`() async throws {
        try await TokenStoreContract.countUp(.canary, in: try await RedisTokenStore.open(self.records.server))

        let other = try await RedisTokenStore.open(self.records.server(database: 3))
        #expect(try await other.read(.canary) == nil)
        await self.expect(.unwritable, "database 99: ", "out of range") { () async throws(StoreError) in
            _ = try await RedisTokenStore.open(self.records.server(database: 99))
        }
    }

    @Test(arguments: [
        ["SET", "records", "a"], ["HSET", "records", "a", "b"], ["ZADD", "keys", "0", "a"], ["SET", "keys", "a"],
        ["HSET", "records", "\u{FF}", "martlet"],
    ])
    func `keys of another program stay as they are`(words: [String]) async throws {
        let key = "\(self.records.prefix)\(words[1])"
        try await self.records.host.command([words[0], key] + words[2...])
        await self.expect(.unreadable) { () async throws(StoreError) in
            _ = try await RedisTokenStore.open(self.records.server)
        }
        try await self.records.host.command("DEL", key)
        _ = try await RedisTokenStore.open(self.records.server)
    }

    @Test(arguments: [("martlet 2 abc", "version 2"), ("other", "another program")])
    func `a layout of a later version is not used`(mark: String, message: String) async throws {
        let script = "redis.call('HSET', KEYS[1], '\\255', ARGV[1])"
        try await self.records.host.command("EVAL", script, "1", self.records.records, mark)
        await self.expect(.unreadable, message) { () async throws(StoreError) in
            _ = try await RedisTokenStore.open(self.records.server)
        }
    }

    @Test func `a server without an append-only file, or with replicas that it does not wait for, is a warning`()
        async throws
    {
        #expect(try await RedisTokenStore.open(self.records.server).warnings == [])

        let host = try await RedisTestServer(settings: ["appendonly no"])
        let replica = try await host.makeReplica()
        let store = try await RedisTokenStore.open(TestRecords(on: host).server)
        #expect(store.warnings.count == 2)
        #expect(store.warnings.first?.contains("appendonly yes") == true)
        #expect(store.warnings.last?.contains("min-replicas-to-write 1") == true)
        #expect(try await store.condition().connectedReplicas == 1)

        try await host.command("CONFIG", "SET", "min-replicas-to-write", "1")
        #expect(try await RedisTokenStore.open(TestRecords(on: host).server).warnings.count == 1)
        _ = replica
    }

    @Test func `a cluster is used with a hash tag only, at the node that has its slot`() async throws {
        // Given a cluster of two nodes, of which one has all slots
        let nodes = try await [Self.node(), Self.node()]
        try await nodes[0].server.command("CLUSTER", "ADDSLOTSRANGE", "0", "16383")
        try await nodes[1].server.command(
            "CLUSTER",
            "MEET",
            "127.0.0.1",
            String(nodes[0].server.port),
            String(nodes[0].bus)
        )
        for node in nodes {
            try await eventually("the cluster") {
                let info = try await node.server.command("CLUSTER", "INFO")
                return info.contains("cluster_state:ok") && info.contains("cluster_known_nodes:2")
            }
        }

        for node in nodes {
            let records = try await TestRecords(on: node.server)
            await self.expect(.unwritable, "hash tag", "store.prefix") { () async throws(StoreError) in
                _ = try await RedisTokenStore.open(records.server)
            }

            // When a store with a hash tag is opened at either node
            let store = try await RedisTokenStore.open(records.server(prefix: "{martlet}:"))

            // Then it uses the one that has the slot, and hears hints
            let hints = store.changes()
            let other = try await RedisTokenStore.open(records.server(prefix: "{martlet}:"))
            try await TokenStoreContract.countUp(.canary, in: other)
            try await within("a hint") {
                for await change in hints where change.key == .canary { return }
            }
        }
        #expect(try await nodes[0].server.command("EXISTS", "{martlet}:records") == "1\n")
    }

    private static func node() async throws -> (server: RedisTestServer, bus: Int) {
        let bus = try LoopbackPort.free()
        return (try await RedisTestServer(settings: ["cluster-enabled yes", "cluster-port \(bus)"]), bus)
    }

    @discardableResult
    private func expect(
        _ code: StoreError.Code,
        _ parts: String...,
        sourceLocation: SourceLocation = #_sourceLocation,
        _ body: () async throws(StoreError) -> Void
    ) async -> StoreError? {
        await TokenStoreContract.expectRefusal(
            code,
            parts,
            hiding: RedisTestServer.password,
            sourceLocation: sourceLocation,
            body
        )
    }
}
