import TestKit
import Testing
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
}
