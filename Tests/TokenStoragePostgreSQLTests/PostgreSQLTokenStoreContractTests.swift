import TestKit
import Testing
import TokenModel
import TokenStorage
import TokenStoragePostgreSQL

@Suite(.needsPostgreSQL) struct PostgreSQLTokenStoreContractTests {
    @Test(arguments: TokenStoreContract.clauses)
    func `it satisfies the store contract`(clause: TokenStoreContract.Clause) async throws {
        let database = try await TestDatabase()
        let subject = TokenStoreContract.Subject(
            store: try await PostgreSQLTokenStore.open(database.server),
            other: try await PostgreSQLTokenStore.open(database.server)
        )
        try await clause.check(subject)
    }

    @Test func `a removal is heard of, here and elsewhere`() async throws {
        // Given two processes' stores with a record, and a listener to each
        let database = try await TestDatabase()
        let stores = [
            try await PostgreSQLTokenStore.open(database.server), try await PostgreSQLTokenStore.open(database.server),
        ]
        let key = RecordKey.account("alice")
        try await stores[0].write(SealedBytes(bytes: [1]), at: key, as: .first, expecting: nil)
        let streams = stores.map { $0.changes() }

        // When one removes it
        try await stores[0].remove(key, expecting: .first)

        // Then both hear of it
        for stream in streams {
            try await within("a hint of a removal") {
                for await change in stream where change.key == key && change.version == nil { return }
            }
        }
    }
}
