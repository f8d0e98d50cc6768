import Synchronization
import TestKit
import Testing
import TokenModel
import TokenStorage

struct DeferredTokenStoreTests {
    private let alice = RecordKey.account("alice")
    private let value = SealedBytes(bytes: [1])
    private let guarantees = StoreGuarantees(reach: .network)

    /// What is found at each attempt to open the store.
    private final class Source: Sendable {
        private let state = Mutex((isAway: true, stores: [any TokenStore](), lost: 0))

        var opened: Int { self.state.withLock(\.stores.count) }

        func comeBack() { self.state.withLock { $0.isAway = false } }

        /// The records of the last store are gone.
        func lose() { self.state.withLock { $0.lost = $0.stores.count } }

        func open() throws(StoreError) -> any TokenStore {
            let store: (any TokenStore)? = self.state.withLock { state in
                guard !state.isAway else { return nil }
                let store = FaultyTokenStore()
                state.stores.append(store)
                return store
            }
            guard let store else { throw StoreError(.unreachable, "it is away") }
            return store
        }

        func isLost() -> Bool { self.state.withLock { $0.lost == $0.stores.count } }

        func fail() { self.state.withLock { ($0.stores.last as? FaultyTokenStore)?.fail(.away) } }
    }

    @Test func `it is opened when it can be reached, and until then its calls fail at once`() async throws {
        let source = Source()
        let store = DeferredTokenStore(self.guarantees) { () async throws(StoreError) in try source.open() }

        await #expect(throws: StoreError(.unreachable, "")) { try await store.read(self.alice) }
        #expect(source.opened == 0)
        source.comeBack()

        try await eventually("the store to be open") {
            (try? await store.records(under: .all, after: nil, limit: 1)) != nil
        }
        try await store.write(self.value, at: self.alice, as: .first, expecting: nil)
        #expect(try await store.records(under: .accounts, after: nil, limit: 9).map(\.key) == [self.alice])
        try await store.remove(self.alice, expecting: .first)
        #expect(source.opened == 1)
    }

    @Test func `it is opened anew when all records are lost, and not when it is only away`() async throws {
        let source = Source()
        source.comeBack()
        let store = DeferredTokenStore(self.guarantees, isLost: { _ in source.isLost() }) {
            () async throws(StoreError) in try source.open()
        }
        try await eventually("the store to be open") {
            (try? await store.records(under: .all, after: nil, limit: 1)) != nil
        }

        source.fail()
        await #expect(throws: StoreError(.unreachable, "")) { try await store.read(self.alice) }
        await #expect(throws: StoreError(.unreachable, "")) { try await store.read(self.alice) }
        #expect(source.opened == 1)

        source.lose()
        try await eventually("another one to be open") {
            (try? await store.records(under: .all, after: nil, limit: 1)) != nil
        }
        #expect(source.opened == 2)
    }
}
