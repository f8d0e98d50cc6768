import TestKit
import Testing
import TokenModel
import TokenStorage

/// Changing the key of a store while a gateway uses the store.
struct RekeyingTests {
    private let directory: TemporaryDirectory
    private let keys: KeyRingFile
    private let store = MemoryTokenStore()
    /// The store as opened by a gateway that was started before the change.
    private let gateway: OpenedStore
    private let alice = AccountID("alice")

    init() async throws {
        self.directory = try TemporaryDirectory()
        self.keys = KeyRingFile(path: self.directory.path(of: "sealing.key"), isMadeWhenMissing: true)
        self.gateway = try await OpenedStore.open(self.store, keys: self.keys)
        for name in ["alice", "bob"] {
            _ = try await self.gateway.accounts.write(.free, for: AccountID(name), expecting: nil)
        }
    }

    private func rekey(retires: Bool = false) async throws -> Rekeying.Outcome {
        let opened = try await OpenedStore.openExisting(self.store, keys: self.keys)
        let rekeying = try Rekeying(opened, keys: self.keys, settling: .zero)
        return try await rekeying.run(retires: retires)
    }

    @Test func `all records are resealed under a new key and can be opened`() async throws {
        let old = self.gateway.keyRing.current.id

        let outcome = try await self.rekey()

        let ring = try #require(try self.keys.existing())
        #expect(outcome.keyAdded)
        #expect(outcome.key == ring.current.id)
        #expect(ring.ids == [outcome.key, old])
        #expect(outcome.resealing.resealed == 3)
        #expect(outcome.resealing.isComplete)
        #expect(outcome.unused == [old])
        let survey = try await OpenedStore.openExisting(self.store, keys: self.keys).survey()
        #expect(survey.unreadable == [])
        #expect(survey.byKey == [outcome.key: 3])
        #expect(try self.directory.mode(of: "sealing.key") == 0o600)
        let files = Set(try self.directory.contents())
        #expect(files == ["sealing.key", "sealing.key.lock"])
    }

    @Test func `a running gateway reads resealed records and writes under the new key`() async throws {
        let outcome = try await self.rekey()

        let entry = try #require(try await self.gateway.accounts.read(self.alice))
        _ = try await self.gateway.accounts.write(.free, for: self.alice, expecting: entry.version)

        #expect(entry.record == .free)
        #expect(try await self.store.read(.account("alice"))?.value.keyID == outcome.key)
    }

    @Test func `a gateway that has read nothing since the change writes a new record under the new key`() async throws {
        let outcome = try await self.rekey()
        _ = try await self.gateway.accounts.write(.free, for: AccountID("carol"), expecting: nil)
        #expect(try await self.store.read(.account("carol"))?.value.keyID == outcome.key)
    }

    @Test func `a gateway writes under the new key even if the old key is gone from the file`() async throws {
        _ = try await self.rekey()
        let outcome = try await self.rekey(retires: true)
        _ = try await self.gateway.accounts.write(.free, for: AccountID("carol"), expecting: nil)
        #expect(outcome.retired.count == 1)
        #expect(try self.keys.existing()?.ids == [outcome.key])
        #expect(try await self.store.read(.account("carol"))?.value.keyID == outcome.key)
        #expect(try await self.gateway.accounts.read(self.alice)?.record == .free)
    }

    @Test func `a record with a refresh in progress is skipped, and the next run continues without a new key`()
        async throws
    {
        var claimed = AccountRecord.sample()
        claimed.claim = AccountRecord.Claim(incarnation: .random(), id: .random(), standsFor: .seconds(12))
        let version = try await self.gateway.accounts.write(claimed, for: self.alice, expecting: .first)

        let first = try await self.rekey()
        #expect(first.resealing.left.map(\.record) == [.account("alice")])
        #expect(first.unused == [])
        #expect(try await self.store.read(.account("alice"))?.version == version)

        _ = try await self.gateway.accounts.write(.free, for: AccountID("dora"), expecting: nil)
        var free = claimed
        free.claim = nil
        // Written by a gateway that does not read the key file and knows only the old key.
        let old = AccountVault(
            store: self.store,
            keyRing: try #require(try self.keys.existing().map { KeyRing(current: $0.retired[0]) }),
            storeID: self.gateway.storeID
        )
        _ = try await old.write(free, for: self.alice, expecting: version)
        let second = try await self.rekey()
        #expect(!second.keyAdded)
        #expect(second.key == first.key)
        #expect(second.resealing.resealed == 1)
        #expect(second.resealing.isComplete)
        #expect(second.unused.count == 1)
    }

    @Test func `a key that any record names stays, even if the record can't be opened`() async throws {
        let key = RecordKey.account("bob")
        let stored = try #require(try await self.store.read(key))
        var bytes = stored.value.bytes
        bytes[bytes.count - 1] ^= 1
        try await self.store.write(SealedBytes(bytes: bytes), at: key, as: Version(2), expecting: .first)

        let first = try await self.rekey()
        let retired = try await self.rekey(retires: true)

        #expect(first.resealing.unreadable.map(\.record) == [key])
        #expect(first.resealing.resealed == 2)
        #expect(retired.retired == [])
        #expect(try self.keys.existing()?.ids.count == 2)
        #expect(try await self.store.read(key)?.value.bytes == bytes)
        // And the damaged record does not prevent another key change.
        #expect(try await self.rekey().keyAdded)
    }

    @Test func `retiring adds no key and removes the keys that no record names`() async throws {
        for _ in 0..<3 { _ = try await self.rekey() }
        #expect(try self.keys.existing()?.ids.count == 4)
        let outcome = try await self.rekey(retires: true)
        #expect(!outcome.keyAdded)
        #expect(outcome.retired.count == 3)
        #expect(try self.keys.existing()?.ids == [outcome.key])
        #expect(try await OpenedStore.openExisting(self.store, keys: self.keys).survey().unreadable == [])
    }

    @Test func `the other contents of the key file stay`() async throws {
        let before = try #require(self.directory.bytes(of: "sealing.key"))
        _ = try await self.rekey()
        _ = try await self.rekey(retires: true)
        let after = String(decoding: try #require(self.directory.bytes(of: "sealing.key")), as: UTF8.self)
        let lines = String(decoding: before, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        #expect(after.split(separator: "\n", omittingEmptySubsequences: false).dropLast(2) == lines.dropLast(2))
        #expect(after.hasSuffix("\n"))
    }

    @Test func `two processes can't change the keys at the same time`() async throws {
        let opened = try await OpenedStore.openExisting(self.store, keys: self.keys)
        let first = try Rekeying(opened, keys: self.keys)
        #expect(throws: KeyRingError(.inaccessible, "")) { _ = try Rekeying(opened, keys: self.keys) }
        _ = try await first.run(retires: false)
    }

    @Test func `a gateway does not switch to keys of another store in the key file's place`() async throws {
        let known = self.gateway.keyRing.current.id
        try self.directory.remove("sealing.key")
        _ = try self.keys.make()
        _ = try await self.gateway.accounts.write(.free, for: AccountID("carol"), expecting: nil)
        #expect(try await self.store.read(.account("carol"))?.value.keyID == known)
    }

    @Test func `concurrent writers cause only retries`() async throws {
        let gateway = self.gateway
        try await withThrowingTaskGroup { group in
            for account in ["alice", "bob", "carol"] {
                group.addTask {
                    for _ in 0..<200 {
                        let entry = try await gateway.accounts.read(AccountID(account))
                        _ = try? await gateway.accounts.write(
                            .free,
                            for: AccountID(account),
                            expecting: entry?.version
                        )
                    }
                }
            }
            _ = try await self.rekey()
            try await group.waitForAll()
        }
        _ = try await self.rekey(retires: true)
        let survey = try await OpenedStore.openExisting(self.store, keys: self.keys).survey()
        #expect(survey.records == 4)
        #expect(survey.unreadable == [])
    }
}

extension AccountRecord {
    /// A record without a refresh in progress.
    fileprivate static var free: AccountRecord {
        var record = AccountRecord.sample()
        record.claim = nil
        return record
    }
}
