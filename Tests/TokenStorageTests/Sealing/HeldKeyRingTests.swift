import TestKit
import Testing
import TokenModel
import TokenStorage

/// Keys in memory that are replaced while a store is open.
struct HeldKeyRingTests {
    private let store = MemoryTokenStore()
    private let old = SealingKey.random()
    private let held: HeldKeyRing
    private let opened: OpenedStore

    init() async throws {
        self.held = HeldKeyRing(KeyRing(current: self.old), name: "the command pass")
        self.opened = try await OpenedStore.open(self.store, keys: self.held)
    }

    /// - Returns: the key of a new record.
    private func write() async throws -> SealingKey.ID? {
        let key = RecordKey.account("account-\(UInt64.random(in: .min ... .max))")
        _ = try await self.opened.records.write(Secret("value"), at: key, expecting: nil)
        return try await self.store.read(key)?.value.keyID
    }

    @Test func `an open store goes over to new keys`() async throws {
        let new = SealingKey.random()
        #expect(try await self.write() == self.old.id)

        self.held.replace(KeyRing(current: new, retired: [self.old]))

        #expect(try await self.write() == new.id)
    }

    @Test func `an open store keeps its keys if the new ones do not open it`() async throws {
        self.held.replace(KeyRing(current: .random()))

        #expect(try await self.write() == self.old.id)
    }

    @Test func `the same keys again are no change`() {
        let before = self.held.revision

        self.held.replace(KeyRing(current: self.old))

        #expect(self.held.revision == before)
    }
}
