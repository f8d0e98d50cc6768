import Simulation
import TestKit
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// A record that can't be decrypted. It is refused, reported once, kept, and never treated as an empty account.
@Suite(.simulated) struct QuarantineTests {
    enum Damage: CaseIterable { case bitFlipped, cutShort, emptied, anotherRow, olderVersion, anotherKey }

    private let bob = AccountID("bob")
    private let provider = ScriptedTokenEndpoint()
    private let key = RecordKey.account("alice")

    /// A house with a damaged record of alice and an intact one of bob.
    private func house(_ damage: Damage) async throws -> Cluster {
        let house = Cluster()
        try await house.put(.expired())
        try await house.put(.valid(), for: self.bob)
        try await self.spoil(damage, in: house)
        return house
    }

    private func spoil(_ damage: Damage, in house: Cluster) async throws {
        var bytes = try #require(try await house.store.read(self.key)).value.bytes
        switch damage {
        case .bitFlipped: bytes[bytes.count - 20] ^= 4
        case .cutShort: bytes.removeLast(9)
        case .emptied: bytes = []
        case .anotherRow: bytes = try #require(try await house.store.read(.account("bob"))).value.bytes
        case .olderVersion: try await house.put(.valid())
        case .anotherKey:
            let foreign = AccountVault(store: house.store, keyRing: KeyRing(current: .random()), storeID: .random())
            let version = try #require(try await house.store.read(self.key)).version
            _ = try await foreign.write(.valid(), for: alice, expecting: version)
            return
        }
        let version = try #require(try await house.store.read(self.key)).version
        try await house.store.write(SealedBytes(bytes: bytes), at: self.key, as: version.next, expecting: version)
    }

    @Test(arguments: Damage.allCases)
    func `I17_callers get an error, nothing is sent, and the row stays unchanged`(damage: Damage) async throws {
        let house = try await self.house(damage)
        let row = try #require(try await house.store.read(self.key))
        try await house.withReplica(self.provider, accounts: [alice, self.bob]) { replica in
            #expect(await replica.ask().value == .error(.accountUnreadable))
            #expect(await replica.ask(refused: Generation(1)).value == .error(.accountUnreadable))
            #expect(await replica.ask(self.bob).value.generation == Generation(1))

            try await replica.hasLanded()
            let statuses = await replica.engine.overview().named
            #expect(statuses.map(\.account) == [alice, self.bob])
            #expect(statuses.map(\.state) == [.unreadable, .valid])
            #expect(await replica.engine.refreshNow(alice)?.state == .unreadable)
            #expect(await replica.engine.accountCounts()[acme]?.states[.unreadable] == 1)
            #expect(await replica.engine.accountCounts()[acme]?.states[.empty] == 0)

            let imported = await self.error { () async throws(AccountChangeError) in
                try await replica.engine.importTokens(Secret("rt-9"), accessToken: Secret("at-9"), for: alice)
            }
            let removed = await self.error { () async throws(AccountChangeError) in
                _ = try await replica.engine.forget(alice)
            }
            let adopted = await self.error { () async throws(AccountChangeError) in
                try await replica.engine.adopt(alice)
            }
            #expect([imported, removed, adopted] == [.unreadable, .unreadable, .unreadable])

            #expect(self.provider.spent.isEmpty)
            #expect(self.provider.revoked.isEmpty)
            let kept = try await house.store.read(self.key)
            #expect(kept == row)
            #expect(house.log.lines.count { $0.contains("a record does not open and is kept") } == 1)
        }
    }

    private func error(
        _ change: () async throws(AccountChangeError) -> Void
    ) async -> AccountChangeError.Code? {
        do throws(AccountChangeError) {
            try await change()
            return nil
        } catch {
            return error.code
        }
    }

    @Test func `a flight that finds the damage before a hint of the change reports it too`() async throws {
        let house = Cluster(store: FaultyTokenStore(hints: false))
        try await house.put(.expired())
        try await house.withReplica(self.provider) { replica in
            await house.clock.pass(.seconds(1))
            house.store.fail(.spoiled, at: self.key)
            #expect(await replica.ask().value == .error(.accountUnreadable))
            #expect(await replica.ask().value == .error(.accountUnreadable))
            #expect(house.log.lines.count { $0.contains("a record does not open and is kept") } == 1)
        }
    }

    @Test func `a known credential is used until it expires, and a repaired row works again`() async throws {
        let house = Cluster()
        try await house.put(.valid())
        try await house.withReplica(self.provider) { replica in
            #expect(await replica.ask().value.generation == Generation(1))
            try await self.spoil(.bitFlipped, in: house)
            #expect(await replica.engine.status(of: alice)?.state == .unreadable)
            #expect(await replica.ask().value.generation == Generation(1))

            await house.clock.pass(.seconds(3_601))
            #expect(await replica.ask().value == .error(.accountUnreadable))

            // As from a backup: the earlier record, sealed again for its place in the store.
            let version = try #require(try await house.store.read(self.key)).version
            _ = try await house.vault.write(.expired(), for: alice, expecting: version)
            #expect(await replica.engine.status(of: alice)?.state == .expired)
            // Callers get the last failure again for a moment before another flight begins.
            await house.clock.pass(.seconds(1))
            #expect(await replica.ask().value.generation == Generation(2))
            #expect(self.provider.spent == ["rt-0"])
        }
    }
}
