import TestKit
import Testing
import TokenStorage

struct MemoryTokenStoreTests {
    @Test(arguments: TokenStoreContract.clauses)
    func `it satisfies the store contract`(clause: TokenStoreContract.Clause) async throws {
        let store = MemoryTokenStore()
        try await clause.check(TokenStoreContract.Subject(store: store, other: store))
    }
}
