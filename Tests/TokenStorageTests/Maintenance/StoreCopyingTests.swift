import Synchronization
import TestKit
import Testing
import TokenModel
import TokenStorage
import TokenStorageSQLite

struct StoreCopyingTests {
    private let directory: TemporaryDirectory
    private let keys = GivenKeyRing(KeyRing(current: .random()), name: "NEW_KEYS")

    init() throws {
        self.directory = try TemporaryDirectory()
    }

    /// A source with a canary and accounts.
    private func source(_ store: any TokenStore, accounts: Int = 3) async throws -> OpenedStore {
        let opened = try await OpenedStore.open(store, keys: self.keys)
        for number in 0..<accounts {
            _ = try await opened.accounts.write(.sample(), for: AccountID("a\(number)"), expecting: nil)
        }
        return opened
    }

    private func differences(_ target: any TokenStore, from source: any TokenStore) async throws -> [RecordKey] {
        var keys: [RecordKey] = []
        let comparison = RecordComparison(of: target, with: source)
        try await comparison.forEachDifference(under: .all, leavingOut: \.staysInItsStore) { keys.append($0.key) }
        return keys
    }

    @Test func `a copy that gateways have used is not copied over`() async throws {
        let (from, to) = (MemoryTokenStore(), MemoryTokenStore())
        let source = try await self.source(from)
        _ = try await StoreCopying(from: source, to: to, keys: self.keys).run()
        let copy = try await OpenedStore.openExisting(to, keys: self.keys)
        let entry = try #require(try await copy.accounts.read(AccountID("a1")))
        _ = try await copy.accounts.write(.sample(), for: AccountID("a1"), expecting: entry.version)

        await #expect(throws: StoreError(.invalid, "")) {
            _ = try await StoreCopying(from: source, to: to, keys: self.keys).run()
        }
        #expect(try await copy.accounts.read(AccountID("a1"))?.version == entry.version.next)
    }

    @Test func `a kill in the copy alone keeps it from being copied over`() async throws {
        let (from, to) = (MemoryTokenStore(), MemoryTokenStore())
        let source = try await self.source(from)
        _ = try await source.records.write(Secret([1]), at: .kill(1), expecting: nil)
        _ = try await StoreCopying(from: source, to: to, keys: self.keys).run()
        let copy = try await OpenedStore.openExisting(to, keys: self.keys)
        _ = try await copy.records.write(Secret([1]), at: .kill(2), expecting: nil)

        await #expect(throws: StoreError(.invalid, "")) {
            _ = try await StoreCopying(from: source, to: to, keys: self.keys).run()
        }
    }

    enum Pair: CaseIterable { case memoryToSQLite, sqliteToMemory, sqliteToSQLite }

    @Test(arguments: Pair.allCases)
    func `a copy has all records, and they open under the target's keys`(pair: Pair) async throws {
        // Given
        func sqlite(_ name: String) async throws -> any TokenStore {
            try await SQLiteTokenStore.open(at: self.directory.path(of: name))
        }
        let from: any TokenStore = pair == .memoryToSQLite ? MemoryTokenStore() : try await sqlite("a.db")
        let to: any TokenStore = pair == .sqliteToMemory ? MemoryTokenStore() : try await sqlite("b.db")
        let source = try await self.source(from, accounts: 300)
        for key in [RecordKey.place, .replica("r1")] {
            _ = try await source.records.write(Secret([1]), at: key, expecting: nil)
        }
        // When
        let steps = Mutex<[StoreCopying.Step: Int]>([:])
        let outcome = try await StoreCopying(from: source, to: to, keys: self.keys).run { step, count in
            steps.withLock { $0[step] = count }
        }
        // Then
        #expect(outcome.records == 301)
        // The canary goes before the others.
        #expect(outcome.copied == 300)
        #expect(outcome.removed == 0)
        #expect(outcome.verified == 301)
        #expect(outcome.isComplete)
        #expect(steps.withLock { $0 } == [.copying: 301, .verifying: 301])
        let target = try await OpenedStore.openExisting(to, keys: self.keys)
        #expect(target.storeID == source.storeID)
        #expect(try await target.accounts.read(AccountID("a299"))?.record == .sample())
        #expect(try await to.read(.place) == nil)
        #expect(try await to.read(.replica("r1")) == nil)
        #expect(try await self.differences(to, from: from) == [])
    }

    @Test func `a run that was cut short is continued, and the canary went first`() async throws {
        let source = try await self.source(MemoryTokenStore(), accounts: 500)
        let target = FaultyTokenStore()
        target.fail(by: { $0.place.hasPrefix("accounts/a3") && $0.operation == .write ? .away : .none })
        let copying = StoreCopying(from: source, to: target, keys: self.keys)

        await #expect(throws: StoreError(.unreachable, "")) { _ = try await copying.run() }
        let copied = target.history.count
        #expect(copied > 1 && copied < 501)
        #expect(target.calls.first { $0.operation == .write }?.place == "canary")
        target.recover()
        let outcome = try await copying.run()

        #expect(outcome.copied == 501 - copied)
        #expect(outcome.verified == 501)
        #expect(try await copying.run().copied == 0)
    }

    @Test func `a second run replaces what has changed and removes what the source has no longer`() async throws {
        // Given
        let from = FaultyTokenStore()
        let source = try await self.source(from)
        let target = MemoryTokenStore()
        let copying = StoreCopying(from: source, to: target, keys: self.keys)
        let revocation = try await source.records.write(Secret([1]), at: .revocation("r"), expecting: nil)
        _ = try await copying.run()
        let keys = (0..<3).map { RecordKey.account("a\($0)") }
        let version = try #require(try await from.read(keys[0])).version
        _ = try await source.accounts.write(.sample(), for: AccountID("a0"), expecting: version)
        try await from.remove(.revocation("r"), expecting: revocation)
        // When
        let outcome = try await copying.run()
        // Then
        #expect(outcome.copied == 1)
        #expect(outcome.removed == 1)
        #expect(outcome.verified == 4)
        #expect(try await self.differences(target, from: from) == [])
    }

    @Test func `a record of the source that does not open is copied as it is and reported`() async throws {
        let source = try await self.source(MemoryTokenStore())
        let key = RecordKey.account("b")
        try await source.store.write(SealedBytes(bytes: [1, 2, 3]), at: key, as: .first, expecting: nil)
        let target = MemoryTokenStore()

        let outcome = try await StoreCopying(from: source, to: target, keys: self.keys).run()

        #expect(outcome.unreadable.map(\.record) == [key])
        #expect(outcome.isComplete)
        #expect(outcome.verified == 4)
        #expect(outcome.records == 5)
        #expect(try await target.read(key)?.value.bytes == [1, 2, 3])
    }

    @Test func `a target whose keys do not open the source is refused, with advice, and nothing is written`()
        async throws
    {
        let source = try await self.source(MemoryTokenStore())
        let target = FaultyTokenStore()
        let other = GivenKeyRing(KeyRing(current: .random()), name: "OTHER_KEYS")

        let error = await #expect(throws: StoreError(.unreadable, "")) {
            _ = try await StoreCopying(from: source, to: target, keys: other).run()
        }

        #expect(error?.message.contains("behind the first line of OTHER_KEYS; martlet store rekey") == true)
        #expect(target.history.count == 0)
        let missing = KeyRingFile(path: self.directory.path(of: "none.key"), isMadeWhenMissing: true)
        await #expect(throws: StoreError(.unreadable, "")) {
            _ = try await StoreCopying(from: source, to: target, keys: missing).run()
        }
        #expect(try missing.existing() == nil)
    }

    @Test func `the source's key behind another one is enough, and a resealing of the copy completes the change`()
        async throws
    {
        let source = try await self.source(MemoryTokenStore())
        let target = MemoryTokenStore()
        let ring = KeyRing(current: .random(), retired: [source.keyRing.current])
        let keys = GivenKeyRing(ring, name: "NEW_KEYS")

        let outcome = try await StoreCopying(from: source, to: target, keys: keys).run()

        #expect(outcome.verified == 4)
        let copy = try await OpenedStore.openExisting(target, keys: keys)
        let resealing = try await copy.reseal()
        // The accounts of this test are being refreshed, so their records are left.
        #expect(resealing.resealed == 1)
        #expect(resealing.left.count == 3)
        #expect(resealing.unreadable == [])
    }

    @Test func `a record under a key that the target lacks is reported as locked`() async throws {
        // Given a source with two keys, of which the target has the canary's alone
        let store = MemoryTokenStore()
        let opened = try await self.source(store, accounts: 1)
        let key = SealingKey.random()
        let both = KeyRing(current: key, retired: [opened.keyRing.current])
        _ = try await opened.with(both).accounts.write(.sample(), for: AccountID("b"), expecting: nil)

        let outcome = try await StoreCopying(from: opened.with(both), to: MemoryTokenStore(), keys: self.keys).run()

        #expect(outcome.locked.map(\.record) == [.account("b")])
        #expect(outcome.unreadable == [])
        #expect(!outcome.isComplete)
    }

    @Test func `what is written to the source meanwhile is reported`() async throws {
        let source = try await self.source(MemoryTokenStore())
        let target = FaultyTokenStore()
        let copying = StoreCopying(from: source, to: target, keys: self.keys)
        target.afterWrite(at: .account("a2")) {
            _ = try? await source.accounts.write(.sample(), for: AccountID("a00"), expecting: nil)
        }

        let outcome = try await copying.run()

        #expect(outcome.changed == [.account("a00")])
        #expect(!outcome.isComplete)
    }

    @Test func `a target with another store, with unknown records, or that is a mirror is refused`() async throws {
        let source = try await self.source(MemoryTokenStore())
        let (other, unknown, mirror) = (MemoryTokenStore(), MemoryTokenStore(), MemoryTokenStore())
        _ = try await OpenedStore.open(other, keys: self.keys)
        _ = try await unknown.write(SealedBytes(bytes: [1]), at: .account("a0"), expecting: nil)
        let mark = MirrorMark(id: .random(), state: .complete, completeAt: nil)
        _ = try await mirror.write(mark.encoded(), at: .mirror, expecting: nil)

        for (target, code) in [(other, StoreError.Code.unreadable), (unknown, .unreadable), (mirror, .outdated)] {
            let error = await #expect(throws: StoreError.self) {
                _ = try await StoreCopying(from: source, to: target, keys: self.keys).run()
            }
            #expect(error?.code == code)
            #expect(try await target.records(under: .all, after: nil, limit: 9).count == 1)
        }
    }

    @Test func `a copy of a store onto itself is refused`() async throws {
        let store = MemoryTokenStore()
        let source = try await self.source(store)
        _ = try await source.records.write(Secret([1]), at: .place, expecting: nil)

        await #expect(throws: StoreError(.invalid, "")) {
            _ = try await StoreCopying(from: source, to: store, keys: self.keys).run()
        }
    }
}
