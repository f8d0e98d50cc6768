import TestKit
import Testing
import TokenModel
import TokenStorage

/// Retiring keys while a gateway runs that does not read the key file.
@Suite struct LingeringKeyTests {
    private let directory: TemporaryDirectory
    private let keys: KeyRingFile
    private let store = FaultyTokenStore()
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

    @Test func `a key used for sealing during the wait stays, and is retired once it is unused`() async throws {
        let old = self.opened.keyRing.current
        // A gateway that knows only the old key and does not read the key file.
        let gateway = AccountVault(
            store: self.store,
            keyRing: KeyRing(current: old),
            storeID: self.opened.storeID
        )
        _ = try await self.rekey(retires: false)
        // Each run lists the store once before it reseals the records, and then waits.
        let carol = self.carol
        self.store.before(listing: 3, of: .all) {
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
