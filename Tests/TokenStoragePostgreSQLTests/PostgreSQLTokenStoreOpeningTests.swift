import TestKit
import Testing
import TokenModel
import TokenStorage
import TokenStoragePostgreSQL

@Suite(.needsPostgreSQL) struct PostgreSQLTokenStoreOpeningTests {
    private let database: TestDatabase

    init() async throws { self.database = try await TestDatabase() }

    @Test func `eight that open a new database at once make its tables once`() async throws {
        let server = self.database.server
        let stores = try await withThrowingTaskGroup { group in
            for _ in 0..<8 { group.addTask { try await PostgreSQLTokenStore.open(server) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }

        try await TokenStoreContract.countUp(.canary, in: stores[0])
        for store in stores { #expect(try await store.read(.canary)?.version == .first) }
        #expect(try await self.database.sql("SELECT count(*) FROM martlet.layout") == "1")
    }

    @Test func `a schema that an administrator has made is used`() async throws {
        try await self.database.sql("CREATE SCHEMA martlet AUTHORIZATION martlet")
        try await self.database.sql("REVOKE CREATE ON DATABASE \(self.database.name) FROM martlet")

        let store = try await PostgreSQLTokenStore.open(self.database.server)

        try await TokenStoreContract.countUp(.canary, in: store)
    }

    @Test func `a command makes no tables`() async throws {
        await self.expect(.unreadable, "the database has no tables of Martlet yet") {
            () async throws(StoreError) in
            _ = try await PostgreSQLTokenStore.open(self.database.server, createsMissing: false)
        }
        #expect(try await self.schemaCount() == "0")
    }

    @Test func `a server that is not there is unreachable, and the message names each host`() async throws {
        let server = self.database.server(hosts: [
            PostgreSQLServer.Host(name: "127.0.0.1", port: 1), PostgreSQLServer.Host(name: "::1", port: 1),
        ])
        await self.expect(.unreachable, "127.0.0.1:1: ", "[::1]:1: ", "Connection refused") {
            () async throws(StoreError) in _ = try await PostgreSQLTokenStore.open(server)
        }
    }

    @Test func `a wrong password is refused, and not shown`() async throws {
        let server = self.database.server(password: "another-password")
        let error = await self.expect(.unwritable, "password authentication failed", "store.password") {
            () async throws(StoreError) in _ = try await PostgreSQLTokenStore.open(server)
        }
        #expect(error?.message.contains("another-password") == false)
    }

    @Test func `a missing database is named, with the statement that makes it`() async throws {
        let server = self.database.server(database: "nowhere")
        await self.expect(.unreadable, "CREATE DATABASE nowhere OWNER martlet") {
            () async throws(StoreError) in _ = try await PostgreSQLTokenStore.open(server)
        }
    }

    @Test func `tables of another program stay as they are`() async throws {
        try await self.database.sql("CREATE SCHEMA martlet; CREATE TABLE martlet.birds (name text)")
        await self.expect(.unreadable, "schema martlet has tables of another program") {
            () async throws(StoreError) in _ = try await PostgreSQLTokenStore.open(self.database.server)
        }
        #expect(
            try await self.database.sql("SELECT string_agg(tablename, ',') FROM pg_tables WHERE schemaname = 'martlet'")
                == "birds"
        )
    }

    @Test func `tables of a later version are not used`() async throws {
        await (try await PostgreSQLTokenStore.open(self.database.server)).close()
        try await self.database.sql("UPDATE martlet.layout SET version = 2")

        await self.expect(.unreadable, "version 2", "use a later Martlet") {
            () async throws(StoreError) in _ = try await PostgreSQLTokenStore.open(self.database.server)
        }
    }

    @Test func `a user without the right to make tables is told how to get it, and nothing is made`() async throws {
        let database = try await TestDatabase(owner: "postgres")
        await self.expect(.unwritable, "GRANT CREATE ON DATABASE \(database.name) TO martlet") {
            () async throws(StoreError) in _ = try await PostgreSQLTokenStore.open(database.server)
        }
        #expect(try await self.schemaCount() == "0")
    }

    @Test func `a certificate of another host is refused`() async throws {
        // The server listens there too, and its certificate is for 127.0.0.1.
        let server = self.database.server(address: "127.0.0.2")
        await self.expect(.unwritable, "certificate", "does not match host name \"127.0.0.2\"", "store.ca") {
            () async throws(StoreError) in _ = try await PostgreSQLTokenStore.open(server)
        }
    }

    @Test func `a server that does not encrypt is refused unless that is allowed`() async throws {
        let server = try await PostgreSQLTestServer(settings: ["ssl = off"])
        let database = try await TestDatabase(on: server)
        await self.expect(.unwritable, "does not support SSL") {
            () async throws(StoreError) in _ = try await PostgreSQLTokenStore.open(database.server)
        }
    }

    @Test func `a standby is no primary`() async throws {
        let primary = try await PostgreSQLTestServer()
        let database = try await TestDatabase(on: primary)
        let standby = try await primary.makeStandby()
        let server = database.server(hosts: [PostgreSQLServer.Host(name: "127.0.0.1", port: standby.port)])
        await self.expect(.unreachable, "read-only") {
            () async throws(StoreError) in _ = try await PostgreSQLTokenStore.open(server)
        }
    }

    private func schemaCount() async throws -> String {
        try await self.database.sql("SELECT count(*) FROM pg_namespace WHERE nspname = 'martlet'")
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
            hiding: PostgreSQLTestServer.password,
            sourceLocation: sourceLocation,
            body
        )
    }
}
