import TestKit
import Testing
import TokenModel
import TokenStorage

@Suite struct JournalCapacityTests {
    @Test func `an acknowledged success makes room where there is no other, and one that is not never does`()
        async throws
    {
        let capacity = JournalCapacity(fileSize: 8 * JournalBlocks.blockSize, retention: .seconds(600))
        let directory = try TemporaryDirectory()
        let keys = GivenKeyRing(KeyRing(current: .random()), name: "test")
        let store = try await OpenedStore.open(MemoryTokenStore(), keys: keys)
        let boot = BootID.random()
        let register = try BootRegister(boot, in: directory.path, store, journal: capacity, kernel: nil) { _, _ in }
        let (alice, success) = (AccountID("alice"), AccountRecord.sample(grant: "g", generation: 2))
        var places: [JournalPlace] = []
        while let place = await register.keep(success, for: alice) { places.append(place) }
        try #require(places.count > 1)

        await register.release(places[0])

        #expect(await register.keep(success, for: alice) == places[0])
        #expect(await register.keep(success, for: alice) == nil)
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
