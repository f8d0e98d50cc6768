import TestKit
import Testing
import TokenStorageRedis

@Suite(.needsRedis) struct RedisTokenStoreContractTests {
    @Test(arguments: TokenStoreContract.clauses)
    func `it satisfies the store contract`(clause: TokenStoreContract.Clause) async throws {
        let records = try await TestRecords()
        let subject = TokenStoreContract.Subject(
            store: try await RedisTokenStore.open(records.server),
            other: try await RedisTokenStore.open(records.server)
        )
        try await clause.check(subject)
    }
}
