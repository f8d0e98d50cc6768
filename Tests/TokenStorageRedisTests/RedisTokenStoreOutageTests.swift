import Glibc
import TestKit
import Testing
import TokenModel
import TokenStorage
import TokenStorageRedis

/// Servers that stop, hang and lose records, and processes that are killed.
@Suite(.needsRedis) struct RedisTokenStoreOutageTests {
    private static let key = RecordKey.account("alice")
    private static let value = SealedBytes(bytes: [2])

    @Test func `it satisfies the contract of an outage when the server is killed`() async throws {
        let host = try await RedisTestServer()
        try await TokenStoreContract.checkOutage(
            try await Self.subject(on: host),
            TokenStoreContract.Outage(begin: { try await host.stop() }, end: { try await host.start() })
        )
    }

    @Test func `it satisfies the contract of an outage when the server hangs`() async throws {
        let host = try await RedisTestServer()
        try await TokenStoreContract.checkOutage(
            try await Self.subject(on: host),
            TokenStoreContract.Outage(begin: { try await host.hold(true) }, end: { try await host.hold(false) })
        )
    }

    private static func subject(on host: RedisTestServer) async throws -> TokenStoreContract.Subject {
        let records = try await TestRecords(on: host)
        return TokenStoreContract.Subject(
            store: try await RedisTokenStore.open(records.server),
            other: try await RedisTokenStore.open(records.server)
        )
    }

    @Test(arguments: [20, 50, 80])
    func `a write acknowledged before kill -9 is there afterwards`(milliseconds: Int) async throws {
        let (records, directory) = (try await TestRecords(), try TemporaryDirectory())
        let notes = directory.path(of: "acknowledged")

        await #expect(processExitsWith: .signal(SIGKILL)) {
            [
                port = records.host.port as Int, prefix = records.prefix as String, roots = records.roots as String,
                notes = notes as String, milliseconds = milliseconds as Int
            ] in
            let server = TestRecords.server(port: port, prefix: prefix, roots: roots)
            try await TokenStoreContract.countUpUntilKilled(
                Self.key,
                in: try await RedisTokenStore.open(server),
                noting: notes,
                after: .milliseconds(milliseconds)
            )
        }

        let store = try await RedisTokenStore.open(records.server)
        try await TokenStoreContract.checkWhatWasKilled(Self.key, in: store, noted: notes)
    }

    @Test func `what was acknowledged is there after the server was killed and is back, as another server`()
        async throws
    {
        let host = try await RedisTestServer()
        let store = try await RedisTokenStore.open(TestRecords(on: host).server)
        let hints = store.changes()
        for _ in 0..<20 { try await TokenStoreContract.countUp(Self.key, in: store) }

        try await host.stop()
        try await host.start()

        #expect(try await store.read(Self.key)?.version == Version(20))
        try await within("the hint of another server") {
            for await change in hints where change == .anotherServer { return }
        }
    }

    @Test func `records that the server has lost are not taken for missing ones`() async throws {
        // Given a store with a record
        let host = try await RedisTestServer()
        let records = try await TestRecords(on: host)
        let store = try await RedisTokenStore.open(records.server)
        try await TokenStoreContract.countUp(Self.key, in: store)

        // When all records are lost
        try await host.command("FLUSHALL")

        // Then every call says so, with records of another gateway in their place too, and after a new connection
        try await Self.expectLost(store)
        let other = try await RedisTokenStore.open(records.server)
        #expect(try await other.read(Self.key) == nil)
        try await Self.expectLost(store)
        try await host.command("CLIENT", "KILL", "USER", RedisTestServer.user)
        // A call may still find its connection closed.
        try await eventually("new connections") {
            guard await Self.errors(of: other).map(\.code) == [.conflict] else { return false }
            return await Self.errors(of: store).allSatisfy { $0.message.contains("lost Martlet's records") }
        }
        try await Self.expectLost(store)
        try await TokenStoreContract.countUp(Self.key, in: other)
    }

    /// How a read, and a write that can't succeed, fail: they take different connections.
    private static func errors(of store: RedisTokenStore) async -> [StoreError] {
        var errors: [StoreError] = []
        do throws(StoreError) { _ = try await store.read(Self.key) } catch { errors.append(error) }
        do throws(StoreError) { try await store.remove(Self.key, expecting: Version(99)) } catch {
            errors.append(error)
        }
        return errors
    }

    private static func expectLost(_ store: RedisTokenStore) async throws {
        let calls: [(StoreError.Code, () async throws(StoreError) -> Void)] = [
            (.unreachable, { () async throws(StoreError) in _ = try await store.read(Self.key) }),
            (
                .unreachable,
                { () async throws(StoreError) in _ = try await store.records(under: .all, after: nil, limit: 9) }
            ),
            (.unreachable, { () async throws(StoreError) in try await store.remove(Self.key, expecting: .first) }),
            (
                .unreachable,
                { () async throws(StoreError) in
                    try await store.write(Self.value, at: Self.key, as: .first, expecting: nil)
                }
            ),
        ]
        for (code, call) in calls {
            do throws(StoreError) {
                try await call()
                Issue.record("a call on lost records succeeds")
            } catch {
                #expect(error.code == code)
                #expect(error.message.contains("lost Martlet's records"), "\(error)")
            }
        }
    }

    @Test(arguments: [
        ["HSET", "records", "accounts/alice", "short"], ["ZREM", "keys", "accounts/alice"],
        ["HSET", "records", "accounts/bob", "long enough"], ["DEL", "keys"],
    ])
    func `what is damaged is unreadable`(words: [String]) async throws {
        let records = try await TestRecords()
        let store = try await RedisTokenStore.open(records.server)
        try await TokenStoreContract.countUp(Self.key, in: store)

        try await records.host.command([words[0], "\(records.prefix)\(words[1])"] + words[2...])

        await #expect(throws: StoreError(.unreadable, "")) {
            _ = try await store.records(under: .accounts, after: nil, limit: 10)
        }
        guard words.contains("short") else { return }
        await #expect(throws: StoreError(.unreadable, "")) {
            try await store.write(Self.value, at: Self.key, as: Version(2), expecting: .first)
        }
    }

    @Test func `a key in the sorted set without a record is skipped, and a record that is written puts its key back`()
        async throws
    {
        let records = try await TestRecords()
        let store = try await RedisTokenStore.open(records.server)
        let keys = ["a", "b", "c", "d"].map(RecordKey.account)
        for key in keys { try await store.write(Self.value, at: key, as: .first, expecting: nil) }
        // Processes ended before they had written these records, and after they had removed them.
        try await records.host.command("HDEL", records.records, "accounts/a", "accounts/c")
        try await records.host.command("ZADD", records.keys, "0", "accounts/bb")
        try await records.host.command("ZREM", records.keys, "accounts/d")

        try await store.write(Self.value, at: keys[3], as: Version(2), expecting: .first)

        #expect(try await store.records(under: .accounts, after: nil, limit: 2).map(\.key) == [keys[1], keys[3]])
        #expect(try await store.read(keys[0]) == nil)
    }

    /// A server that loads its append-only file drops transactions if its default user has no rights.
    @Test func `a restart loses nothing on a server whose default user is off`() async throws {
        let host = try await RedisTestServer(settings: [
            "user default off", "user admin on nopass resetkeys ~* resetchannels &* +@all",
        ])
        let store = try await RedisTokenStore.open(TestRecords(on: host).server)
        let keys = (0..<20).map { RecordKey.account(String($0)) }
        for key in keys { try await store.write(Self.value, at: key, as: .first, expecting: nil) }
        for key in keys[..<10] { try await store.write(Self.value, at: key, as: Version(2), expecting: .first) }
        for key in keys[15...] { try await store.remove(key, expecting: .first) }

        try await host.stop()
        try await host.start()

        try await eventually("the records") {
            let found = try? await store.records(under: .accounts, after: nil, limit: 100)
            return found?.count == 15
        }
        for (index, key) in keys[..<15].enumerated() {
            #expect(try await store.read(key)?.version == (index < 10 ? Version(2) : .first))
        }
    }

    @Test func `a server without memory or rights refuses writes alone`() async throws {
        let host = try await RedisTestServer()
        let store = try await RedisTokenStore.open(TestRecords(on: host).server)
        try await TokenStoreContract.countUp(Self.key, in: store)

        for (spoil, mend, part) in [
            (["CONFIG", "SET", "maxmemory", "1"], ["CONFIG", "SET", "maxmemory", "0"], "OOM"),
            (
                ["ACL", "SETUSER", RedisTestServer.user, "-hset"], ["ACL", "SETUSER", RedisTestServer.user, "+hset"],
                "ACL SETUSER"
            ),
            // The first command of a new record fails.
            (
                ["ACL", "SETUSER", RedisTestServer.user, "-zadd", "-hset"],
                ["ACL", "SETUSER", RedisTestServer.user, "+zadd", "+hset"], "ACL SETUSER"
            ),
        ] {
            try await host.command(spoil)
            do throws(StoreError) {
                try await store.write(Self.value, at: Self.key, as: Version(2), expecting: .first)
                Issue.record("it was written")
            } catch {
                #expect(error.code == .unwritable)
                #expect(error.message.contains(part), "\(error)")
            }
            #expect(try await store.read(Self.key)?.version == .first)
            do throws(StoreError) {
                try await store.write(Self.value, at: .account("new"), as: .first, expecting: nil)
                Issue.record("a new record was written")
            } catch {
                #expect(error.code == .unwritable)
                #expect(error.message.contains(part), "\(error)")
            }
            try await host.command(mend)
        }
        try await TokenStoreContract.countUp(Self.key, in: store)
    }

    @Test func `an administrator who ends the connections ends no store`() async throws {
        let host = try await RedisTestServer()
        let records = try await TestRecords(on: host)
        let store = try await RedisTokenStore.open(records.server)
        let hints = store.changes()
        for round in 1...3 {
            try await host.command("CLIENT", "KILL", "USER", RedisTestServer.user)
            try await eventually("a write in round \(round)") {
                (try? await TokenStoreContract.countUp(Self.key, in: store)) != nil
            }
        }
        try await within("the hint that anything may have changed") {
            for await change in hints where change == .everything { return }
        }
        let stream = store.changes()
        let other = try await RedisTokenStore.open(records.server)
        try await TokenStoreContract.countUp(.account("bob"), in: other)
        try await within("a hint") {
            for await change in stream where change.key == .account("bob") { return }
        }
    }

    @Test func `two stores hear each other, and nothing of what another program publishes`() async throws {
        let records = try await TestRecords()
        let store = try await RedisTokenStore.open(records.server)
        let other = try await RedisTokenStore.open(records.server)
        let streams = [store.changes(), other.changes()]
        for text in ["", "nonsense", String(repeating: "x", count: 16), String(repeating: "\u{FF}", count: 20)] {
            try await records.host.command("PUBLISH", "\(records.prefix)changes", text)
        }

        try await TokenStoreContract.countUp(.account("a"), in: store)
        try await TokenStoreContract.countUp(.account("b"), in: other)
        try await other.remove(.account("b"), expecting: .first)

        for stream in streams {
            let heard = try await within("three hints") { () -> [RecordChange] in
                var heard: [RecordChange] = []
                for await change in stream {
                    heard.append(change)
                    if heard.count == 3 { break }
                }
                return heard
            }
            #expect(
                heard == [
                    RecordChange(key: .account("a"), version: .first),
                    RecordChange(key: .account("b"), version: .first),
                    RecordChange(key: .account("b"), version: nil),
                ]
            )
        }
    }

    @Test func `a closed store ends its streams, its calls and its connections`() async throws {
        let host = try await RedisTestServer()
        let store = try await RedisTokenStore.open(TestRecords(on: host).server)
        let stream = store.changes()
        #expect(try await host.command("CLIENT", "LIST").contains("user=martlet"))
        await store.close()
        for await _ in stream { Issue.record("a hint of a closed store") }
        await #expect(throws: StoreError(.unreachable, "")) { _ = try await store.read(Self.key) }
        try await eventually("the end of the connections") {
            try await !host.command("CLIENT", "LIST").contains("user=martlet")
        }
    }

    @Test func `a store that is released closes its connections`() async throws {
        let host = try await RedisTestServer()
        var store: RedisTokenStore? = try await RedisTokenStore.open(TestRecords(on: host).server)
        #expect(try await store?.condition().isReplicated == false)
        store = nil
        try await eventually("the end of the connections") {
            try await !host.command("CLIENT", "LIST").contains("user=martlet")
        }
    }
}
