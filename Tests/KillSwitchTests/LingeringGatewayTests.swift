import KillSwitch
import Simulation
import TestKit
import Testing
import TokenModel
import TokenStorage

/// Retiring a sealing key while a gateway runs that uses another key file.
@Suite(.simulated) struct LingeringGatewayTests {
    private let house = ReplicaGroup()
    private let directory: TemporaryDirectory
    private let keys: KeyRingFile
    private let opened: OpenedStore
    private let old: SealingKey

    init() async throws {
        self.directory = try TemporaryDirectory()
        self.keys = KeyRingFile(path: self.directory.path(of: "sealing.key"), isMadeWhenMissing: true)
        self.opened = try await OpenedStore.open(self.house.store, keys: self.keys)
        self.old = self.opened.keyRing.current
    }

    private func rekey(retires: Bool) async throws -> Rekeying.Outcome {
        let opened = try await OpenedStore.openExisting(self.house.store, keys: self.keys)
        return try await Rekeying(opened, keys: self.keys, settling: .zero, timepiece: self.house.clock.timepiece)
            .run(retires: retires)
    }

    /// The records as a gateway opens them whose key file has the new key after the old one.
    private func otherFile() throws -> SealedRecords {
        let new = try #require(try self.keys.existing()).current
        return SealedRecords(
            store: self.house.store,
            keyRing: KeyRing(current: self.old, retired: [new]),
            storeID: self.opened.storeID
        )
    }

    /// The key of the only replica's record.
    private func place() async throws -> RecordKey {
        .replica(try #require(try await ReplicaVault(self.opened.records).list().entries.first).id.rawValue)
    }

    private func stored(_ place: RecordKey) async throws -> StoredRecord {
        try #require(try await self.house.store.read(place))
    }

    @Test func `a gateway that only polls but seals under an old key prevents the retirement of the key`()
        async throws
    {
        _ = try await self.rekey(retires: false)
        let one = self.house.replica("a", records: try self.otherFile())
        try await self.house.run([one]) {
            let place = try await self.place()
            // The command's first pass reseals the gateway's record, and the gateway polls while the command waits.
            self.house.store.afterWrite(at: place) { try? await one.kills.renew() }

            let outcome = try await self.rekey(retires: true)

            #expect(outcome.lingering == [self.old.id])
            #expect(outcome.retired == [])
            #expect(outcome.unused == [])
            #expect(try self.keys.existing()?.ids == [outcome.key, self.old.id])
            try await one.kills.renew()
            #expect(try await self.stored(place).value.keyID == self.old.id)
            #expect(one.kills.holdsLease)
        }
        // The gateway has stopped, so no process seals under the old key any more.
        #expect(try await self.rekey(retires: true).retired == [self.old.id])
    }

    @Test func `a gateway with the same key file switches to the new key without an extra write`()
        async throws
    {
        let one = self.house.replica("a", records: self.opened.records)
        try await self.house.run([one]) {
            let place = try await self.place()
            let outcome = try await self.rekey(retires: false)
            let sealed = try await self.stored(place)

            for _ in 0..<3 { try await one.kills.renew() }

            #expect(sealed.value.keyID == outcome.key)
            #expect(try await self.stored(place) == sealed)
            #expect(try await self.rekey(retires: true).retired == [self.old.id])
        }
    }

    @Test func `a gateway that can't write its record under its own key still renews its lease`() async throws {
        _ = try await self.rekey(retires: false)
        let one = self.house.replica("a", records: try self.otherFile())
        try await self.house.run([one]) {
            let place = try await self.place()
            let outcome = try await self.rekey(retires: false)
            self.house.store.fail(.full, at: place)

            try await one.kills.renew()

            #expect(try await self.stored(place).value.keyID == outcome.key)
            #expect(one.kills.holdsLease)
        }
    }
}
