import TestKit
import Testing
import TokenModel
import TokenStorage

/// Tests of the store with which other tests inject faults.
@Suite struct FaultyTokenStoreTests {
    private let store = FaultyTokenStore(StoreGuarantees(reach: .network, failover: .losesSuffix))
    private let key = RecordKey.account("alice")

    private static func value(_ byte: UInt8) -> SealedBytes { SealedBytes(bytes: [byte, byte]) }

    /// - Returns: the version written.
    @discardableResult
    private func put(_ byte: UInt8, over version: Version? = nil) async throws -> Version {
        try await self.store.write(Self.value(byte), at: self.key, expecting: version)
    }

    private func bytes(_ store: FaultyTokenStore? = nil) async throws -> UInt8? {
        try await (store ?? self.store).read(self.key)?.value.bytes.first
    }

    @Test(arguments: TokenStoreContract.clauses)
    func `it satisfies the store contract without a fault`(clause: TokenStoreContract.Clause) async throws {
        try await clause.check(TokenStoreContract.Subject(store: self.store, other: self.store.connect()))
    }

    @Test(arguments: [FaultyTokenStore.Fault.away, .unanswered, .late(calls: 2)])
    func `it satisfies the store contract through an outage`(fault: FaultyTokenStore.Fault) async throws {
        let (store, other) = (self.store, self.store.connect())
        try await TokenStoreContract.checkOutage(
            TokenStoreContract.Subject(store: store, other: other),
            TokenStoreContract.Outage(
                begin: { for one in [store, other] { one.fail(fault, [.write, .remove]) } },
                end: { for one in [store, other] { one.recover() } }
            )
        )
    }

    @Test(arguments: [(FaultyTokenStore.Fault.away, UInt8?.none), (.unanswered, 1)])
    func `a write during an outage is unreachable, with or without effect`(
        _ fault: FaultyTokenStore.Fault,
        _ stands: UInt8?
    ) async throws {
        self.store.fail(fault, [.write])
        await #expect(throws: StoreError(.unreachable, "")) { try await self.put(1) }
        #expect(try await self.bytes() == stands)
    }

    @Test func `a late write lands by compare-and-set after the calls it waits for`() async throws {
        self.store.fail(.late(calls: 1), [.write], times: 1)
        await #expect(throws: StoreError(.unreachable, "")) { try await self.put(1) }
        #expect(try await self.bytes() == nil)
        #expect(try await self.bytes() == 1)

        self.store.fail(.late(calls: 100), [.write], times: 1)
        await #expect(throws: StoreError(.unreachable, "")) { try await self.put(2, over: .first) }
        try await self.put(3, over: .first)
        self.store.landLateWrites()
        #expect(try await self.bytes() == 3)
    }

    @Test func `a stale read returns a past state, and a write uses the current one`() async throws {
        let first = try await self.put(1)
        let second = try await self.put(2, over: first)
        let old = self.store.connect()
        old.fail(.stale(commits: 1))
        #expect(try await self.bytes(old) == 1)
        #expect(try await old.records(under: .accounts, after: nil, limit: 5).map(\.stored.value.bytes) == [[1, 1]])
        #expect(try await self.bytes() == 2)
        await #expect(throws: StoreError.conflict(nil)) {
            _ = try await old.write(Self.value(3), at: self.key, expecting: first)
        }
        _ = try await old.write(Self.value(3), at: self.key, expecting: second)
        #expect(try await self.bytes() == 3)
    }

    @Test func `losing a suffix removes the last commits of all keys and no others`() async throws {
        let first = try await self.put(1)
        _ = try await self.store.write(Self.value(9), at: .kill(1), expecting: nil)
        try await self.put(2, over: first)
        self.store.lose(2)
        #expect(try await self.bytes() == 1)
        #expect(try await self.store.read(.kill(1)) == nil)
    }

    @Test func `a stalled call continues when the store recovers`() async throws {
        try await self.put(1)
        self.store.fail(.stalled, [.read])
        async let read = self.bytes()
        try await eventually("the read to stall") { self.store.isStalled }
        self.store.recover()
        #expect(try await read == 1)
    }
}
