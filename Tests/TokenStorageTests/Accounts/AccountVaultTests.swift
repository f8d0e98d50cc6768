import Testing
import TokenModel
import TokenStorage

struct AccountVaultTests {
    private let store = MemoryTokenStore()
    private let keyRing = KeyRing(current: .random())
    private let vault: AccountVault

    init() {
        self.vault = AccountVault(store: self.store, keyRing: self.keyRing, storeID: .random())
    }

    @Test func `an account that was never written has no record`() async throws {
        #expect(try await self.vault.read(AccountID("alice")) == nil)
    }

    @Test func `a written record is read back with the version to expect next`() async throws {
        let record = AccountRecord.sample()

        let version = try await self.vault.write(record, for: AccountID("alice"), expecting: nil)

        #expect(version == .first)
        #expect(try await self.vault.read(AccountID("alice")) == AccountVault.Entry(record: record, version: .first))
    }

    @Test func `each write of a record has a new salt, nonce and ciphertext`() async throws {
        // Given the same record under the same key at the same place: written first, overwritten, and written in a
        // copy of the store
        let (account, storeID) = (AccountID("alice"), StoreID.random())
        var stored: [[UInt8]] = []
        for writes in [2, 1] {
            let store = MemoryTokenStore()
            let vault = AccountVault(store: store, keyRing: self.keyRing, storeID: storeID)
            var version: Version?
            for _ in 1...writes {
                version = try await vault.write(.sample(), for: account, expecting: version)
                stored.append(try #require(try await store.read(.account("alice"))).value.bytes)
            }
        }
        // Then no two stored values share bytes at any position after the header
        #expect(stored.count == 3 && Set(stored.map(\.count)).count == 1)
        for (one, other) in [(0, 1), (0, 2), (1, 2)] {
            #expect(stored[one].placesShared(with: stored[other], behind: [UInt8].sealedHeader) == [])
        }
    }

    @Test func `a write that conflicts with another writer carries the current record`() async throws {
        let account = AccountID("alice")
        let theirs = AccountRecord.sample(generation: Generation(7))
        _ = try await self.vault.write(theirs, for: account, expecting: nil)

        let conflict = await #expect(throws: StoreError.conflict(nil)) {
            _ = try await self.vault.write(.sample(), for: account, expecting: nil)
        }

        let current = try #require(conflict?.current)
        #expect(try self.vault.open(current, of: account) == AccountVault.Entry(record: theirs, version: .first))
    }

    @Test func `a record that can't be opened is refused and kept`() async throws {
        let key = RecordKey.account("alice")
        let junk = SealedBytes(bytes: [1, 2, 3])
        try await self.store.write(junk, at: key, as: .first, expecting: nil)

        await #expect(throws: StoreError(.unreadable, "")) { _ = try await self.vault.read(AccountID("alice")) }
        #expect(try await self.store.read(key) == StoredRecord(version: .first, value: junk))
    }

    @Test func `records swapped between accounts are refused and kept`() async throws {
        let (alice, bob) = (RecordKey.account("alice"), RecordKey.account("bob"))
        for name in ["alice", "bob"] { _ = try await self.vault.write(.sample(), for: AccountID(name), expecting: nil) }
        let (first, second) = (
            try #require(try await self.store.read(alice)), try #require(try await self.store.read(bob))
        )
        for (key, value) in [(alice, second.value), (bob, first.value)] {
            try await self.store.remove(key, expecting: .first)
            try await self.store.write(value, at: key, as: .first, expecting: nil)
        }

        for name in ["alice", "bob"] {
            await #expect(throws: StoreError(.unreadable, "")) { _ = try await self.vault.read(AccountID(name)) }
        }
        #expect(try await self.store.read(alice) == second)
    }

    @Test func `an older version that was put back is refused`() async throws {
        let (account, key) = (AccountID("alice"), RecordKey.account("alice"))
        _ = try await self.vault.write(.sample(), for: account, expecting: nil)
        let old = try #require(try await self.store.read(key)).value
        _ = try await self.vault.write(.sample(generation: Generation(9)), for: account, expecting: .first)

        try await self.store.write(old, at: key, as: Version(3), expecting: Version(2))

        await #expect(throws: StoreError(.unreadable, "")) { _ = try await self.vault.read(account) }
    }

    @Test func `a record of another store is refused`() async throws {
        let account = AccountID("alice")
        _ = try await self.vault.write(.sample(), for: account, expecting: nil)

        let elsewhere = AccountVault(store: self.store, keyRing: self.keyRing, storeID: .random())

        await #expect(throws: StoreError(.unreadable, "")) { _ = try await elsewhere.read(account) }
    }

    @Test func `the stored bytes contain no part of a token`() async throws {
        var record = AccountRecord.sample()
        record.tokens?.refreshToken = Secret("canary-refresh-token")
        _ = try await self.vault.write(record, for: AccountID("alice"), expecting: nil)

        let stored = try #require(try await self.store.read(.account("alice"))).value.bytes

        #expect(!String(decoding: stored, as: UTF8.self).contains("canary"))
        #expect(!String(decoding: stored, as: UTF8.self).contains("acme"))
    }

    @Test func `all accounts are listed over more than one page`() async throws {
        let names = (0..<1201).map { String($0) }
        for name in names { _ = try await self.vault.write(.sample(), for: AccountID(name), expecting: nil) }
        try await self.store.write(SealedBytes(bytes: [0]), at: .canary, as: .first, expecting: nil)

        #expect(try await self.vault.accounts() == names.sorted().map { AccountID($0) })
    }

    @Test func `changes are announced only for accounts`() async throws {
        var changes = self.vault.changes().makeAsyncIterator()
        try await self.store.write(SealedBytes(bytes: [0]), at: .canary, as: .first, expecting: nil)
        _ = try await self.vault.write(.sample(), for: AccountID("alice"), expecting: nil)

        let change = await changes.next()
        #expect(change?.account == AccountID("alice"))
        #expect(change?.version == .first)
    }

    @Test func `tokens too large for the store are refused, not truncated`() async throws {
        var record = AccountRecord.sample()
        record.tokens?.refreshToken = Secret([UInt8](repeating: 0x61, count: SealedBytes.maximumCount))

        await #expect(throws: StoreError(.invalid, "")) {
            _ = try await self.vault.write(record, for: AccountID("alice"), expecting: nil)
        }
        #expect(try await self.vault.read(AccountID("alice")) == nil)
    }
}
