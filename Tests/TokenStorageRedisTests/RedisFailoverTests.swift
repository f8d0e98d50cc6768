import TestKit
import Testing
import TokenModel
import TokenStorage
import TokenStorageRedis

/// Replicas, failovers, and former primaries.
@Suite(.needsRedis) struct RedisFailoverTests {
    private static let key = RecordKey.account("alice")
    private static let value = SealedBytes(bytes: [2])

    @Test func `a write that no replica confirms is unreachable, and the primary that has lost them acknowledges none`()
        async throws
    {
        // Given a primary with a replica, and a store that has seen both
        let primary = try await RedisTestServer()
        let replica = try await primary.makeReplica()
        let records = try await TestRecords(on: primary)
        let store = try await RedisTokenStore.open(records.server)
        try await TokenStoreContract.countUp(Self.key, in: store)
        #expect(try await store.condition().isReplicated)
        #expect(try await store.condition().connectedReplicas == 1)

        // When the replica hangs
        try await replica.hold(true)

        // Then a write is unreachable, and what stands on this server alone is not read
        try await eventually("the reason") {
            let error = await Self.failure { () async throws(StoreError) in
                try await store.write(Self.value, at: Self.key, as: Version(2), expecting: .first)
            }
            #expect(error?.code == .unreachable)
            // On a busy machine it may be that the server does not respond in time.
            return error?.message.contains("no replica has confirmed") == true
        }
        let conflict = await Self.failure { () async throws(StoreError) in
            try await store.write(Self.value, at: Self.key, as: Version(9), expecting: Version(8))
        }
        #expect(conflict?.code == .unreachable)
        #expect(
            await Self.failure { () async throws(StoreError) in _ = try await store.read(Self.key) }?.code
                == .unreachable
        )
        #expect(
            await Self.failure { () async throws(StoreError) in
                _ = try await store.records(under: .accounts, after: nil, limit: 9)
            }?.code == .unreachable
        )

        // and when it is gone, no write is acknowledged
        try await replica.stop()
        try await eventually("the loss of the replica") { try await store.condition().connectedReplicas == 0 }
        #expect(try await store.condition().isReplicated == false)
        for version in [Version(3), Version(4)] {
            let error = await Self.failure { () async throws(StoreError) in
                try await store.write(Self.value, at: Self.key, as: version, expecting: Version(2))
            }
            #expect(error?.code == .unreachable)
        }

        // until it is back, and has everything
        try await replica.start()
        try await eventually("a read") { (try? await store.read(Self.key)) != nil }
        let expected = try await store.read(Self.key)?.version
        try await store.write(Self.value, at: Self.key, as: Version(9), expecting: expected)
    }

    @Test func `a server that demands replicas and has none is unreachable for writes`() async throws {
        let host = try await RedisTestServer()
        let store = try await RedisTokenStore.open(TestRecords(on: host).server)
        try await TokenStoreContract.countUp(Self.key, in: store)
        try await host.command("CONFIG", "SET", "min-replicas-to-write", "1")

        let error = await Self.failure { () async throws(StoreError) in
            try await store.write(Self.value, at: Self.key, as: Version(2), expecting: .first)
        }
        #expect(error?.code == .unreachable)
        #expect(error?.message.contains("NOREPLICAS") == true)
        #expect(try await store.read(Self.key)?.version == .first)
    }

    @Test func `after a failover the store works with the new primary, and never again with the former one`()
        async throws
    {
        // Given a primary with a replica, and a store that knows both
        let former = try await RedisTestServer()
        let next = try await former.makeReplica()
        let records = try await TestRecords(on: former)
        let hosts = [former, next].map { RedisServer.Host(name: "127.0.0.1", port: $0.port) }
        let store = try await RedisTokenStore.open(records.server(hosts: hosts))
        try await TokenStoreContract.countUp(Self.key, in: store)

        // When the primary hangs, and the replica is promoted
        let hints = store.changes()
        try await former.hold(true)
        try await next.command("REPLICAOF", "NO", "ONE")
        try await next.command("CONFIG", "REWRITE")
        try await eventually("the store to be back") {
            (try? await TokenStoreContract.countUp(Self.key, in: store)) != nil
        }

        // Then that may have lost something, and
        try await within("the hint of another server") {
            for await change in hints where change == .anotherServer { return }
        }
        // the former primary, which goes on and is open for writes, is not used even if it is the only one
        let known = try #require(try await store.read(Self.key)?.version)
        try await former.hold(false)
        try await next.stop()
        try await eventually("the refusal") {
            let error = await Self.failure { () async throws(StoreError) in
                try await store.write(Self.value, at: Self.key, as: known.next, expecting: known)
            }
            #expect(error?.code == .unreachable)
            return error?.message.contains("this is a former primary") == true
        }
        let error = await Self.failure { () async throws(StoreError) in _ = try await store.read(Self.key) }
        #expect(error?.code == .unreachable)
        try await next.start()
        try await eventually("the store to be back") { (try? await store.read(Self.key)?.version) == known }
    }

    @Test func `a primary that an administrator makes a replica is left at its first refusal`() async throws {
        // Given a primary with a replica, and a store that knows both
        let former = try await RedisTestServer()
        let next = try await former.makeReplica()
        let hosts = [former, next].map { RedisServer.Host(name: "127.0.0.1", port: $0.port) }
        let records = try await TestRecords(on: former)
        let store = try await RedisTokenStore.open(records.server(hosts: hosts))
        try await TokenStoreContract.countUp(Self.key, in: store)

        // When they change roles, without an end of any connection
        try await next.command("REPLICAOF", "NO", "ONE")
        try await former.command("REPLICAOF", "127.0.0.1", String(next.port))

        // Then writes go on at the new primary, after one refusal at the most
        let refusals = Tally()
        try await eventually("the store to be back") {
            let error = await Self.failure { () async throws(StoreError) in
                let version = try await store.read(Self.key)?.version
                _ = try await store.write(Self.value, at: Self.key, expecting: version)
            }
            if error?.message.contains("read only") == true { refusals.add() }
            return error == nil
        }
        #expect(refusals.count <= 1)
        #expect(try await next.command("HLEN", records.records) == "2\n")
    }

    @Test func `a primary without the records of an open store is not used in place of the one that has them`()
        async throws
    {
        // Given a store at the first of two servers that have nothing to do with each other
        let (server, stranger) = (try await RedisTestServer(), try await RedisTestServer())
        let records = try await TestRecords(on: server)
        let hosts = [server, stranger].map { RedisServer.Host(name: "127.0.0.1", port: $0.port) }
        let store = try await RedisTokenStore.open(records.server(hosts: hosts))
        try await TokenStoreContract.countUp(Self.key, in: store)

        // When the first one is gone for a while
        try await server.stop()
        try await eventually("the refusal") {
            let error = await Self.failure { () async throws(StoreError) in _ = try await store.read(Self.key) }
            return error?.message.contains("lost Martlet's records") == true
        }
        try await server.start()

        // Then the store goes on there
        try await eventually("the store to be back") { (try? await store.read(Self.key)?.version) == .first }
    }

    @Test func `Sentinels name the primary, and the one that they have promoted`() async throws {
        // Given three Sentinels that watch a primary with a replica
        let former = try await RedisTestServer()
        let next = try await former.makeReplica()
        let sentinels = try await Self.sentinels(of: former)
        let records = try await TestRecords(on: former)
        let hosts = sentinels.map { RedisServer.Host(name: "127.0.0.1", port: $0.port) }
        let server = records.server(hosts: hosts, sentinels: RedisServer.Sentinels(name: "martlet"))
        let store = try await RedisTokenStore.open(server)
        let hints = store.changes()
        for _ in 0..<3 { try await TokenStoreContract.countUp(Self.key, in: store) }

        // When the primary hangs
        try await former.hold(true)
        for sentinel in sentinels {
            try await sentinel.command("SENTINEL", "SET", "martlet", "down-after-milliseconds", "500")
        }
        try await eventually("the promotion") {
            // A Sentinel that promotes a server closes its connections.
            (try? await next.command("INFO", "replication"))?.contains("role:master") == true
        }

        // Then the same store goes on at the new primary. It has no replica, and needs none
        try await eventually("the store to be back") {
            (try? await TokenStoreContract.countUp(Self.key, in: store)) != nil
        }
        try await within("the hint of another server") {
            for await change in hints where change == .anotherServer { return }
        }
        let known = try #require(try await store.read(Self.key)?.version)
        #expect(known >= Version(4))

        // and whoever comes new goes there too, although one Sentinel has missed the failover
        try await sentinels[0].stop()
        let behind = try await former.makeSentinel(quorum: 1, port: sentinels[0].port)
        let another = try await RedisTokenStore.open(server)
        #expect(try await another.read(Self.key)?.version == known)

        // and when only the former primary is left, with that Sentinel, it is not used
        for sentinel in sentinels.dropFirst() { try await sentinel.stop() }
        try await next.stop()
        try await former.hold(false)
        let other = try await RedisTokenStore.open(server)
        #expect(try await other.read(Self.key)?.version == Version(3))
        try await eventually("the refusal") {
            let error = await Self.failure { () async throws(StoreError) in _ = try await store.read(Self.key) }
            #expect(error?.code == .unreachable)
            return error?.message.contains("the Sentinels that respond have missed a failover") == true
        }
        _ = behind
    }

    @Test func `a name that the Sentinels do not know is told`() async throws {
        let host = try await RedisTestServer()
        let sentinel = try await host.makeSentinel(quorum: 1)
        let server = try await TestRecords(on: host).server(
            hosts: [RedisServer.Host(name: "127.0.0.1", port: sentinel.port)],
            sentinels: RedisServer.Sentinels(name: "another")
        )
        let error = await Self.failure { () async throws(StoreError) in _ = try await RedisTokenStore.open(server) }
        #expect(error?.code == .unwritable)
        #expect(error?.message.contains("it knows no primary of the name another") == true)
    }

    @Test func `a user of the Sentinels needs one right, and its password is not shown`() async throws {
        // Given a Sentinel with a user
        let host = try await RedisTestServer()
        let sentinel = try await host.makeSentinel(quorum: 1)
        try await sentinel.command("ACL", "SETUSER", "watcher", "on", ">a-secret", "-@all", "+sentinel|master")
        let records = try await TestRecords(on: host)
        let server = { (password: String) in
            records.server(
                hosts: [RedisServer.Host(name: "127.0.0.1", port: sentinel.port)],
                sentinels: RedisServer.Sentinels(name: "martlet", user: "watcher", password: Secret(password))
            )
        }

        // When a store is opened with it
        try await TokenStoreContract.countUp(Self.key, in: try await RedisTokenStore.open(server("a-secret")))

        // Then another password is refused
        let error = await Self.failure { () async throws(StoreError) in
            _ = try await RedisTokenStore.open(server("another-secret"))
        }
        #expect(error?.code == .unwritable)
        #expect(error?.message.contains("WRONGPASS") == true)
        #expect(error?.message.contains("store.sentinel_password") == true)
        #expect(error?.message.contains("secret") == false)
    }

    /// Three Sentinels that know each other and the replica.
    private static func sentinels(of host: RedisTestServer) async throws -> [RedisTestServer] {
        var sentinels: [RedisTestServer] = []
        for _ in 0..<3 { sentinels.append(try await host.makeSentinel(quorum: 2)) }
        for sentinel in sentinels {
            try await eventually("the Sentinels") {
                let known = try await sentinel.command("SENTINEL", "MASTER", "martlet").split(separator: "\n")
                let value = { (name: Substring) in known.firstIndex(of: name).map { known[$0 + 1] } }
                return value("num-other-sentinels") == "2" && value("num-slaves") == "1"
            }
        }
        return sentinels
    }

    private static func failure(_ body: () async throws(StoreError) -> Void) async -> StoreError? {
        do throws(StoreError) {
            try await body()
            return nil
        } catch {
            return error
        }
    }
}
