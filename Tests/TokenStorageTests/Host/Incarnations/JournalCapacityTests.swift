import TestKit
import Testing
import TokenModel
import TokenStorage

@Suite struct JournalCapacityTests {
    private let directory: TemporaryDirectory
    private let alice = AccountID("alice")
    private let success = AccountRecord.sample(grant: "g", generation: 2)

    init() throws {
        self.directory = try TemporaryDirectory()
    }

    private func begin(_ capacity: JournalCapacity) async throws -> IncarnationRegistry {
        try IncarnationRegistry(.random(), in: self.directory.path, try await self.store(), journal: capacity) { _, _ in
        }
    }

    private func store() async throws -> OpenedStore {
        let keys = GivenKeyRing(KeyRing(current: .random()), name: "test")
        return try await OpenedStore.open(MemoryTokenStore(), keys: keys)
    }

    @Test func `what was kept long enough is erased without another refresh, so that its key can be retired`()
        async throws
    {
        let store = try await self.store()
        let capacity = JournalCapacity(fileSize: 1 << 20, retention: .nanoseconds(1))
        let register = try IncarnationRegistry(.random(), in: self.directory.path, store, journal: capacity) { _, _ in }
        let place = try #require(await register.keep(self.success, for: self.alice))
        await register.release(place)
        #expect(store.surveyJournals(in: self.directory.path).byKey.count == 1)

        _ = await register.inheritAll()

        #expect(store.surveyJournals(in: self.directory.path).byKey == [:])
    }

    @Test func `an incarnation that stopped in order and left a journal is not reported as one that did not`()
        async throws
    {
        let store = try await self.store()
        func begin() throws -> IncarnationRegistry {
            try IncarnationRegistry(.random(), in: self.directory.path, store, journal: .least) { _, _ in }
        }
        // Given one that kept an acknowledged success, for a store that may lose it
        for leavesNothing in [true, false] {
            let register = try begin()
            let place = try #require(await register.keep(self.success, for: self.alice))
            await register.release(place)
            await register.close(leavesNothing: leavesNothing)
        }

        // Then each later one reports only the one whose replica was left in the store
        for _ in 0..<2 {
            let later = try begin()
            try await eventually("the end of both") { await later.inheritAll().incarnations == 1 }
            #expect(await later.inheritAll().incarnations == 0)
            await later.close()
        }
    }

    @Test func `a full journal overwrites an acknowledged success, but never one that is not acknowledged`()
        async throws
    {
        let capacity = JournalCapacity(fileSize: 8 * JournalBlocks.blockSize, retention: .seconds(600))
        let register = try await self.begin(capacity)
        var places: [JournalPlace] = []
        while let place = await register.keep(self.success, for: self.alice) { places.append(place) }
        try #require(places.count > 1)

        await register.release(places[0])

        #expect(await register.keep(self.success, for: self.alice) == places[0])
        #expect(await register.keep(self.success, for: self.alice) == nil)
    }

    @Test func `a journal has the minimum size if the disk has no space for the requested size`() async throws {
        let capacity = JournalCapacity(fileSize: 1 << 60)

        let register = try await self.begin(capacity)

        #expect(await !register.lacksJournal)
        #expect(await register.keep(self.success, for: self.alice) != nil)
    }

    @Test(arguments: [
        (50, 200, StoreGuarantees.Reach.host, 6_553_600), (1, 1, .host, 1 << 20), (50, 200, .network, 61_849_600),
        (.max, .max, .network, 64 << 20),
    ])
    func `a journal is sized by the refresh rate`(
        _ rate: Int,
        _ burst: Int,
        _ reach: StoreGuarantees.Reach,
        _ bytes: Int
    ) {
        let capacity = JournalCapacity(refreshesPerSecond: rate, burst: burst, on: StoreGuarantees(reach: reach))
        #expect(capacity.fileSize == bytes)
        #expect((capacity.retention > .zero) == (reach == .network))
    }
}
