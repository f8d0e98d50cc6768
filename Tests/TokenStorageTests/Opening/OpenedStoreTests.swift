import TestKit
import Testing
import TokenModel
import TokenStorage

struct OpenedStoreTests {
    private let directory: TemporaryDirectory
    private let keys: KeyRingFile
    private let store = MemoryTokenStore()

    init() throws {
        self.directory = try TemporaryDirectory()
        self.keys = KeyRingFile(path: self.directory.path(of: "sealing.key"), isMadeWhenMissing: true)
    }

    private func other() -> GivenKeyRing { GivenKeyRing(KeyRing(current: .random()), name: "OTHER_KEY") }

    @Test func `a new store gets a key, an id and a canary, and opens again with them`() async throws {
        let first = try await OpenedStore.open(self.store, keys: self.keys)
        _ = try await first.accounts.write(.sample(), for: AccountID("alice"), expecting: nil)

        let second = try await OpenedStore.open(self.store, keys: self.keys)

        #expect(second.storeID == first.storeID)
        #expect(second.storeID.rawValue.count == 32)
        #expect(try await second.accounts.read(AccountID("alice"))?.record == .sample())
    }

    @Test func `a new store uses the keys that exist`() async throws {
        let key = try self.keys.make().current

        #expect(try await OpenedStore.open(self.store, keys: self.keys).keyRing.current == key)
    }

    @Test func `two stores under one key have different ids`() async throws {
        let first = try await OpenedStore.open(self.store, keys: self.keys)
        let second = try await OpenedStore.open(MemoryTokenStore(), keys: self.keys)

        #expect(first.storeID != second.storeID)
    }

    @Test func `concurrent openers of a new store get the same id and key`() async throws {
        let opened = try await withThrowingTaskGroup { group in
            for _ in 0..<32 { group.addTask { try await OpenedStore.open(self.store, keys: self.keys) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }

        #expect(Set(opened.map(\.storeID)).count == 1)
        #expect(Set(opened.map(\.keyRing.current.id)).count == 1)
    }

    @Test func `a store under another key is refused`() async throws {
        _ = try await OpenedStore.open(self.store, keys: self.keys)
        let canary = try await self.store.read(.canary)

        let error = await #expect(throws: StoreError(.unreadable, "")) {
            _ = try await OpenedStore.open(self.store, keys: self.other())
        }

        #expect(error?.message.hasPrefix("wrong sealing key in OTHER_KEY") == true)
        #expect(try await self.store.read(.canary) == canary)
    }

    @Test func `a store whose key file is missing is refused, and no key is made`() async throws {
        _ = try await OpenedStore.open(self.store, keys: self.keys)
        try self.directory.remove("sealing.key")

        let error = await #expect(throws: StoreError(.unreadable, "")) {
            _ = try await OpenedStore.open(self.store, keys: self.keys)
        }

        #expect(error?.message.contains("missing at \(self.keys.name)") == true)
        #expect(try self.keys.existing() == nil)
    }

    @Test func `a store with records and no canary is refused, and no key is made`() async throws {
        try await self.store.write(SealedBytes(bytes: [1]), at: .account("alice"), as: .first, expecting: nil)

        await #expect(throws: StoreError(.unreadable, "")) {
            _ = try await OpenedStore.open(self.store, keys: self.keys)
        }

        #expect(try self.keys.existing() == nil)
        #expect(try await self.store.read(.canary) == nil)
    }

    @Test func `a damaged canary is refused and kept`() async throws {
        let opened = try await OpenedStore.open(self.store, keys: self.keys)
        let junk = SealedBytes(bytes: [UInt8](repeating: 1, count: 100))
        try await self.store.write(junk, at: .canary, as: Version(2), expecting: .first)

        await #expect(throws: StoreError(.unreadable, "")) {
            _ = try await OpenedStore.open(self.store, keys: GivenKeyRing(opened.keyRing, name: "KEY"))
        }
        #expect(try await self.store.read(.canary)?.value == junk)
    }

    @Test func `an older canary that was put back is refused`() async throws {
        let opened = try await OpenedStore.open(self.store, keys: self.keys)
        let old = try #require(try await self.store.read(.canary)).value
        try await self.store.write(old, at: .canary, as: Version(2), expecting: .first)

        await #expect(throws: StoreError(.unreadable, "")) {
            _ = try await OpenedStore.open(self.store, keys: GivenKeyRing(opened.keyRing, name: "KEY"))
        }
    }

    @Test func `a key that can't be read causes an error with its own message`() async throws {
        let keys = KeyRingFile(path: self.directory.path(of: "none.key"), isMadeWhenMissing: false)

        let error = await #expect(throws: StoreError(.unreadable, "")) {
            _ = try await OpenedStore.open(self.store, keys: keys)
        }

        #expect(error?.message.contains("must be given to all replicas") == true)
        #expect(try await self.store.read(.canary) == nil)
    }
}
