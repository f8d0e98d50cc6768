import Foundation
import GRDB
import TestKit
import Testing
import TokenModel
import TokenStorage
import TokenStorageSQLite

/// Rows restored from an older copy by someone who can write the database: what sealing prevents and what it doesn't.
struct RolledBackRowTests {
    private let directory: TemporaryDirectory
    private let keyRing = KeyRing(current: .random())
    private let storeID = StoreID.random()
    private let alice = AccountID("alice")
    private var path: String { self.directory.path(of: "store.db") }

    init() throws { self.directory = try TemporaryDirectory() }

    /// Opens the store as a process of its own would, runs `body` and closes the store.
    private func withVault<Result>(_ body: (AccountVault) async throws -> Result) async throws -> Result {
        let store = try await SQLiteTokenStore.open(at: self.path)
        let result: Result
        do {
            result = try await body(AccountVault(store: store, keyRing: self.keyRing, storeID: self.storeID))
        } catch {
            await store.close()
            throw error
        }
        await store.close()
        return result
    }

    private func record(_ generation: UInt64) -> AccountRecord {
        AccountRecord(
            grant: GrantID("g"),
            generation: Generation(generation),
            tokens: TokenSet(
                accessToken: nil,
                refreshToken: Secret("rt-\(generation)"),
                receivedAt: WallTime(millisecondsSince1970: 0),
                lifetime: .zero
            ),
            observedEpoch: .start,
            binding: AccountRecord.Binding(
                provider: ProviderID("acme"),
                issuer: .tokenEndpoint("https://login.example:443/token"),
                clientID: "my-app"
            )
        )
    }

    /// Writes two generations of an account and returns the rows of both.
    private func writeTwoGenerations() async throws -> (old: Row, new: Row) {
        func row() throws -> Row {
            let sql = "SELECT version, value FROM record WHERE key = ?"
            let key = Array(RecordKey.account("alice").rawValue.utf8)
            return try #require(
                try DatabaseQueue(path: self.path).read { try Row.fetchOne($0, sql: sql, arguments: [Data(key)]) }
            )
        }
        let first = try await self.withVault { try await $0.write(self.record(1), for: self.alice, expecting: nil) }
        let old = try row()
        try await self.withVault { _ = try await $0.write(self.record(2), for: self.alice, expecting: first) }
        return (old, try row())
    }

    private func put(version: Int64, value: Data) throws {
        let key = Data(RecordKey.account("alice").rawValue.utf8)
        try DatabaseQueue(path: self.path).write { database in
            try database.execute(
                sql: "UPDATE record SET version = ?, value = ? WHERE key = ?",
                arguments: [version, value, key]
            )
        }
    }

    @Test func `I17_an older value does not open at the current version, whether or not a process runs`() async throws {
        let (old, new) = try await self.writeTwoGenerations()
        try self.put(version: new["version"], value: old["value"])
        await #expect(throws: StoreError(.unreadable, "")) {
            try await self.withVault { _ = try await $0.read(self.alice) }
        }
    }

    /// The documentation states this limit: the store itself can't detect the change. If this test ever fails, update
    /// the documentation.
    @Test func `an older row restored with its version while no process runs opens`() async throws {
        let (old, _) = try await self.writeTwoGenerations()
        try self.put(version: old["version"], value: old["value"])
        let entry = try await self.withVault { try await $0.read(self.alice) }
        #expect(entry?.record == self.record(1))
        #expect(entry.map { Int64(bitPattern: $0.version.rawValue) } == old["version"])
    }
}
