import Synchronization
import TestKit
import Testing
import TokenModel
import TokenStorage

/// Taking keys out while a gateway runs that does not go by the file they are in.
@Suite struct LingeringKeyTests {
    private let directory: TemporaryDirectory
    private let keys: KeyRingFile
    private let store = WatchedListing()
    private let opened: OpenedStore
    private let carol = AccountID("carol")

    init() async throws {
        self.directory = try TemporaryDirectory()
        self.keys = KeyRingFile(path: self.directory.path(of: "sealing.key"), isMadeWhenMissing: true)
        self.opened = try await OpenedStore.open(self.store, keys: self.keys)
    }

    private func rekey(retires: Bool) async throws -> Rekeying.Outcome {
        let opened = try await OpenedStore.openExisting(self.store, keys: self.keys)
        return try await Rekeying(opened, keys: self.keys, settling: .zero).run(retires: retires)
    }

    @Test func `a key that somebody seals under while it is waited stays, and goes when nobody does`() async throws {
        let old = self.opened.keyRing.current
        // As a gateway that knows the key of before, and nothing of the file.
        let gateway = AccountVault(
            store: self.store.inner,
            keyRing: KeyRing(current: old),
            storeID: self.opened.storeID
        )
        _ = try await self.rekey(retires: false)
        // Each run looks through the store once before it seals anew, and then waits.
        let carol = self.carol
        self.store.before(listing: 3) {
            _ = try? await gateway.write(.sample(grant: "g", generation: 1), for: carol, expecting: nil)
        }

        let first = try await self.rekey(retires: true)
        let second = try await self.rekey(retires: true)

        #expect(first.lingering == [old.id])
        #expect(first.retired == [])
        #expect(first.unused == [])
        #expect(first.resealing.isComplete)
        #expect(second.lingering == [])
        #expect(second.retired == [old.id])
        #expect(try await self.store.read(.account("carol"))?.value.keyID == second.key)
    }
}

/// A memory store that does something when all of its keys are about to be listed.
private final class WatchedListing: TokenStore {
    private struct Plan {
        var number: Int
        let body: @Sendable () async -> Void
    }

    let inner = MemoryTokenStore()
    private let plan = Mutex<Plan?>(nil)

    /// Calls `body` before the listing with this number, counted from now and from 1.
    func before(listing number: Int, _ body: @escaping @Sendable () async -> Void) {
        self.plan.withLock { $0 = Plan(number: number, body: body) }
    }

    var guarantees: StoreGuarantees { StoreGuarantees(reach: .process) }

    func records(
        under prefix: RecordKey.Prefix,
        after: RecordKey?,
        limit: Int
    ) async throws(StoreError) -> [KeyedRecord] {
        if after == nil, limit > 1 {
            let body: (@Sendable () async -> Void)? = self.plan.withLock { plan in
                plan?.number -= 1
                return plan?.number == 0 ? plan?.body : nil
            }
            await body?()
        }
        return try await self.inner.records(under: prefix, after: after, limit: limit)
    }

    func read(_ key: RecordKey) async throws(StoreError) -> StoredRecord? { try await self.inner.read(key) }

    func write(
        _ value: SealedBytes,
        at key: RecordKey,
        as version: Version,
        expecting: Version?
    ) async throws(StoreError) {
        try await self.inner.write(value, at: key, as: version, expecting: expecting)
    }

    func remove(_ key: RecordKey, expecting: Version) async throws(StoreError) {
        try await self.inner.remove(key, expecting: expecting)
    }

    func changes() -> AsyncStream<RecordChange> { self.inner.changes() }
}
