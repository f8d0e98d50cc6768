import Synchronization
import TestKit
import Testing
import TokenModel
import TokenStorage

struct TimedTokenStoreTests {
    @Test(arguments: TokenStoreContract.clauses)
    func `it satisfies the store contract`(clause: TokenStoreContract.Clause) async throws {
        let store = TimedTokenStore(MemoryTokenStore()) { _, _ in }
        try await clause.check(TokenStoreContract.Subject(store: store, other: store))
    }

    @Test func `each call is reported once, including failed ones`() async throws {
        let told = Mutex<[TimedTokenStore.Operation]>([])
        let store = TimedTokenStore(MemoryTokenStore()) { operation, time in
            #expect(time >= .zero)
            told.withLock { $0.append(operation) }
        }
        let key = RecordKey.account("alice")
        _ = try await store.read(key)
        _ = try await store.write(SealedBytes(bytes: [1]), at: key, expecting: nil)
        await #expect(throws: StoreError.self) {
            _ = try await store.write(SealedBytes(bytes: [1]), at: key, expecting: nil)
        }
        _ = try await store.records(under: .all, after: nil, limit: 1)
        try await store.remove(key, expecting: .first)
        #expect(told.withLock { $0 } == [.read, .write, .write, .records, .remove])
    }
}
