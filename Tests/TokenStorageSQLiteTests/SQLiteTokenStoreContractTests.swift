import TestKit
import Testing
import TokenStorageSQLite

struct SQLiteTokenStoreContractTests {
    private let directory: TemporaryDirectory

    init() throws {
        self.directory = try TemporaryDirectory()
    }

    @Test(arguments: TokenStoreContract.clauses)
    func `it satisfies the store contract`(clause: TokenStoreContract.Clause) async throws {
        let path = self.directory.path(of: "store.db")
        let subject = TokenStoreContract.Subject(
            store: try await SQLiteTokenStore.open(at: path),
            other: try await SQLiteTokenStore.open(at: path)
        )
        try await clause.check(subject)
    }
}
