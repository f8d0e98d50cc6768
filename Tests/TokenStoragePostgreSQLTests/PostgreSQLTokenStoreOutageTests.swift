import Glibc
import TestKit
import Testing
import TokenModel
import TokenStorage
import TokenStoragePostgreSQL

/// Servers that stop, hang and fail over, and processes that are killed.
@Suite(.needsPostgreSQL) struct PostgreSQLTokenStoreOutageTests {
    private static let key = RecordKey.account("alice")
    private static let value = SealedBytes(bytes: [2])

    @Test func `it satisfies the contract of an outage when the server crashes`() async throws {
        let host = try await PostgreSQLTestServer()
        try await TokenStoreContract.checkOutage(
            try await Self.subject(on: host),
            TokenStoreContract.Outage(begin: { try await host.stop() }, end: { try await host.start() })
        )
    }

    @Test func `it satisfies the contract of an outage when the server hangs`() async throws {
        let host = try await PostgreSQLTestServer()
        try await TokenStoreContract.checkOutage(
            try await Self.subject(on: host),
            TokenStoreContract.Outage(begin: { try await host.hold(true) }, end: { try await host.hold(false) })
        )
    }

    private static func subject(on host: PostgreSQLTestServer) async throws -> TokenStoreContract.Subject {
        let database = try await TestDatabase(on: host)
        return TokenStoreContract.Subject(
            store: try await PostgreSQLTokenStore.open(database.server),
            other: try await PostgreSQLTokenStore.open(database.server)
        )
    }

    @Test(arguments: [20, 50, 80])
    func `a write acknowledged before kill -9 is there afterwards`(milliseconds: Int) async throws {
        let (database, directory) = (try await TestDatabase(), try TemporaryDirectory())
        let notes = directory.path(of: "acknowledged")

        await #expect(processExitsWith: .signal(SIGKILL)) {
            [
                port = database.host.port as Int, name = database.name as String, roots = database.roots as String,
                notes = notes as String, milliseconds = milliseconds as Int
            ] in
            let server = TestDatabase.server(port: port, database: name, roots: roots)
            try await TokenStoreContract.countUpUntilKilled(
                Self.key,
                in: try await PostgreSQLTokenStore.open(server),
                noting: notes,
                after: .milliseconds(milliseconds)
            )
        }

        let store = try await PostgreSQLTokenStore.open(database.server)
        try await TokenStoreContract.checkWhatWasKilled(Self.key, in: store, noted: notes)
    }

    @Test func `a write that its standby has not confirmed is unreachable, and one process waits at the server`()
        async throws
    {
        // Given a server whose standby is gone
        let host = try await PostgreSQLTestServer()
        let database = try await TestDatabase(on: host)
        let store = try await PostgreSQLTokenStore.open(database.server)
        #expect(try await store.condition().isReplicated == false)
        try await host.sql("ALTER SYSTEM SET synchronous_standby_names = 'gone'")
        try await host.sql("SELECT pg_reload_conf()")
        try await eventually("the setting") { try await store.condition().isReplicated }

        // When several writes are tried
        for _ in 0..<3 {
            await #expect(throws: StoreError(.unreachable, "")) {
                try await store.write(Self.value, at: Self.key, as: .first, expecting: nil)
            }
        }

        // Then one commit waits, nobody sees what it wrote, and reads go on
        #expect(try await host.sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") == "1")
        #expect(try await store.read(Self.key) == nil)
        await #expect(throws: StoreError(.unreachable, "")) {
            _ = try await PostgreSQLTokenStore.open(database.server)
        }

        // and once the standby is not needed any more, the write stands and the store works
        try await host.sql("ALTER SYSTEM RESET synchronous_standby_names")
        try await host.sql("SELECT pg_reload_conf()")
        try await eventually("the write") {
            (try? await store.write(Self.value, at: Self.key, as: Version(2), expecting: .first)) != nil
        }
        #expect(try await store.read(Self.key)?.version == Version(2))
    }

    @Test func `a write whose wait for the standby an operator ends is unreachable`() async throws {
        let host = try await PostgreSQLTestServer()
        let database = try await TestDatabase(on: host)
        let store = try await PostgreSQLTokenStore.open(database.server)
        try await host.sql("ALTER SYSTEM SET synchronous_standby_names = 'gone'")
        try await host.sql("SELECT pg_reload_conf()")
        try await eventually("the setting") { try await store.condition().isReplicated }

        async let failure: StoreError? = {
            do throws(StoreError) {
                try await store.write(Self.value, at: Self.key, as: .first, expecting: nil)
                return nil
            } catch {
                return error
            }
        }()
        try await eventually("the end of the wait") {
            try await host.sql("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
                == "t"
        }

        #expect(await failure == StoreError(.unreachable, ""))
        #expect(await failure?.message.contains("the commit was not replicated") == true)
    }

    @Test func `after a failover the store works with the new primary, and never again with the former one`()
        async throws
    {
        // Given a primary with a standby, and a store that knows both
        let former = try await PostgreSQLTestServer()
        let next = try await former.makeStandby()
        let database = try await TestDatabase(on: former)
        let hosts = [former, next].map { PostgreSQLServer.Host(name: "127.0.0.1", port: $0.port) }
        let store = try await PostgreSQLTokenStore.open(database.server(hosts: hosts))
        try await TokenStoreContract.countUp(Self.key, in: store)
        try await eventually("the standby's copy") {
            try await former.sql("SELECT pg_current_wal_lsn() <= replay_lsn FROM pg_stat_replication") == "t"
        }

        // When the primary is gone and the standby is promoted
        let hints = store.changes()
        try await former.stop()
        try await next.sql("SELECT pg_promote()")
        try await eventually("the store to be back") {
            (try? await TokenStoreContract.countUp(Self.key, in: store)) != nil
        }

        // Then that may have lost something, and
        try await within("the hint of another server") {
            for await change in hints where change == .anotherServer { return }
        }
        // the former primary, which is back and open for writes, is not used even if it is the only one
        let known = try #require(try await store.read(Self.key)?.version)
        try await former.start()
        try await next.stop()
        let error = await #expect(throws: StoreError.self) {
            try await store.write(Self.value, at: Self.key, as: known.next, expecting: known)
        }
        #expect(error?.code == .unreachable)
        await #expect(throws: StoreError(.unreachable, "")) { _ = try await store.read(Self.key) }
        try await next.start()
        try await eventually("the store to be back") { (try? await store.read(Self.key)?.version) == known }
    }

    @Test func `another database at the same address is not used by a store that is open`() async throws {
        let host = try await PostgreSQLTestServer()
        let database = try await TestDatabase(on: host)
        let store = try await PostgreSQLTokenStore.open(database.server)
        try await TokenStoreContract.countUp(Self.key, in: store)

        try await database.sql("UPDATE martlet.layout SET id = gen_random_uuid()")
        try await host.stop()
        try await host.start()

        try await eventually("the refusal") {
            do throws(StoreError) {
                _ = try await store.read(Self.key)
                return false
            } catch {
                return error.message.contains("this is another database")
            }
        }
    }

    @Test func `an administrator who ends the sessions ends no store`() async throws {
        let host = try await PostgreSQLTestServer()
        let database = try await TestDatabase(on: host)
        let store = try await PostgreSQLTokenStore.open(database.server)
        let hints = store.changes()
        for round in 1...3 {
            try await database.sql(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'martlet'"
            )
            try await eventually("a write in round \(round)") {
                (try? await TokenStoreContract.countUp(Self.key, in: store)) != nil
            }
        }
        try await within("the hint that anything may have changed") {
            for await change in hints where change == .everything { return }
        }
        let stream = store.changes()
        let other = try await PostgreSQLTokenStore.open(database.server)
        try await TokenStoreContract.countUp(.account("bob"), in: other)
        try await within("a hint") {
            for await change in stream where change.key == .account("bob") { return }
        }
    }

    @Test func `a write that waits for another program's lock fails alone`() async throws {
        // Given a record that another session has locked
        let database = try await TestDatabase()
        let store = try await PostgreSQLTokenStore.open(database.server)
        try await TokenStoreContract.countUp(Self.key, in: store)
        async let holding = database.sql(
            """
            BEGIN; SELECT FROM martlet.record WHERE key = 'accounts/alice'::bytea FOR UPDATE;
            DO $$ BEGIN PERFORM pg_sleep(600); EXCEPTION WHEN query_canceled THEN NULL; END $$
            """
        )
        try await eventually("the lock") {
            try await database.sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") != "0"
        }

        // When it is written together with others
        // Of the others in its transaction some come before it, and some behind it.
        let keys = (0..<40).map { RecordKey.account("\($0.isMultiple(of: 2) ? "a" : "other")-\($0)") }
        func write(_ keys: ArraySlice<RecordKey>) -> [Task<Void, any Error>] {
            keys.map { key in Task { try await store.write(Self.value, at: key, as: .first, expecting: nil) } }
        }
        let before = write(keys[..<20])
        let locked = Task {
            try await store.write(Self.value, at: Self.key, as: Version(2), expecting: .first)
        }
        let others = before + write(keys[20...])

        // Then the others stand, and it alone fails
        for other in others { try await other.value }
        for key in keys { #expect(try await store.read(key)?.version == .first) }
        await #expect(throws: StoreError(.unreachable, "")) { try await locked.value }
        #expect(try await store.read(Self.key)?.version == .first)
        let lock = "FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = '\(database.name)'"
        try await database.sql("SELECT pg_cancel_backend(pid) \(lock)")
        _ = try await holding
    }

    @Test func `what another program notifies is no hint`() async throws {
        let database = try await TestDatabase()
        let store = try await PostgreSQLTokenStore.open(database.server)
        let stream = store.changes()
        for text in ["", " ", "nonsense", "1 %", "x y z"] {
            try await database.sql("NOTIFY martlet, '\(text)'")
        }
        let other = try await PostgreSQLTokenStore.open(database.server)
        try await TokenStoreContract.countUp(Self.key, in: other)

        let first = try await within("a hint") { () -> RecordChange? in
            for await change in stream { return change }
            return nil
        }
        #expect(first == RecordChange(key: Self.key, version: .first))
    }

    @Test func `a closed store ends its streams and its calls`() async throws {
        let database = try await TestDatabase()
        let store = try await PostgreSQLTokenStore.open(database.server)
        let stream = store.changes()
        await store.close()
        for await _ in stream { Issue.record("a hint of a closed store") }
        await #expect(throws: StoreError(.unreachable, "")) { _ = try await store.read(Self.key) }
        let left = "SELECT count(*) FROM pg_stat_activity WHERE datname = '\(database.name)'"
        try await eventually("the end of the sessions") { try await database.host.sql(left) == "0" }
    }
}
