import TestKit
import Testing
import TokenModel
import TokenStorage
import TokenStorageSQLite

/// The contract of stores, kept by a primary with a mirror, through two stores that mirror at once.
struct MirroringTokenStoreContractTests {
    private let directory: TemporaryDirectory

    init() throws {
        self.directory = try TemporaryDirectory()
    }

    /// The drivers of a primary and its mirror.
    enum Pair: String, CaseIterable, CustomTestStringConvertible {
        case memoryOfMemory, sqliteToMemory, memoryToSQLite
        var testDescription: String { self.rawValue }
    }

    private func sqlite(_ name: String) async throws -> SQLiteTokenStore {
        try await SQLiteTokenStore.open(at: self.directory.path(of: name))
    }

    private func check(
        _ clause: TokenStoreContract.Clause,
        primaries: [any TokenStore],
        mirrors: [any TokenStore]
    ) async throws {
        let stores = zip(primaries, mirrors).map { primary, mirror in
            // Clauses that bring the machine to its limits would make a mirror late.
            MirroringTokenStore(primary: primary, mirrors: [.init(name: "mirror", store: mirror)], timing: .short)
        }
        try await whileRunning(stores) {
            for store in stores { try await store.upToDate() }
            try await clause.check(TokenStoreContract.Subject(store: stores[0], other: stores[1]))
            try await equal(mirrors[0], primaries[0])
        }
    }

    @Test(arguments: TokenStoreContract.clauses, Pair.allCases)
    func `it satisfies the store contract, and the mirror ends equal`(
        clause: TokenStoreContract.Clause,
        pair: Pair
    ) async throws {
        let memory = MemoryTokenStore()
        switch pair {
        case .memoryOfMemory:
            let mirror = MemoryTokenStore()
            try await self.check(clause, primaries: [memory, memory], mirrors: [mirror, mirror])
        case .sqliteToMemory:
            let primaries = [try await self.sqlite("a.db"), try await self.sqlite("a.db")]
            try await self.check(clause, primaries: primaries, mirrors: [memory, memory])
        case .memoryToSQLite:
            let mirrors = [try await self.sqlite("b.db"), try await self.sqlite("b.db")]
            try await self.check(clause, primaries: [memory, memory], mirrors: mirrors)
        }
    }

    @Test(arguments: TokenStoreContract.clauses)
    func `it satisfies the store contract while the mirror is away`(clause: TokenStoreContract.Clause) async throws {
        let mirror = FaultyTokenStore()
        mirror.fail(.away)
        let primary = MemoryTokenStore()
        let store = MirroringTokenStore(primary: primary, mirrors: [.init(name: "mirror", store: mirror)])
        try await whileRunning([store]) {
            try await clause.check(TokenStoreContract.Subject(store: store, other: store))
        }
        #expect(mirror.history.count == 0)
    }

    @Test(arguments: TokenStoreContract.clauses)
    func `it satisfies the store contract without any work on the mirror`(
        clause: TokenStoreContract.Clause
    ) async throws {
        let store = MirroringTokenStore(
            primary: MemoryTokenStore(),
            mirrors: [.init(name: "mirror", store: MemoryTokenStore())]
        )
        try await clause.check(TokenStoreContract.Subject(store: store, other: store))
    }
}
