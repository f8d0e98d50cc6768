import Synchronization
import TestKit
import Testing
import TokenModel
import TokenStorage

/// Two gateways with the same primary and mirror, whose calls fail as a seed chooses.
struct MirroringFaultTests {
    private static let keys = (0..<6).map { RecordKey.account("\($0)") }

    /// A connection of which about one call in eight fails.
    private static func connect(_ store: FaultyTokenStore, seed: UInt64) -> FaultyTokenStore {
        let connection = store.connect()
        let random = Mutex(SeededGenerator(seed: seed))
        connection.fail(by: { _ in
            random.withLock { random in
                switch UInt8.random(in: 0..<64, using: &random) {
                case 0, 1: .away
                case 2, 3: .unanswered
                case 4, 5: .late(calls: Int.random(in: 0..<40, using: &random))
                case 6: .stale(commits: Int.random(in: 1..<5, using: &random))
                default: .none
                }
            }
        })
        return connection
    }

    @Test(arguments: 0..<12 as Range<UInt64>)
    func `whatever fails, the mirror equals the primary in the end`(seed: UInt64) async throws {
        // Given
        let (primary, mirror) = (FaultyTokenStore(), FaultyTokenStore())
        let primaries = [0, 1].map { Self.connect(primary, seed: 4 * seed + $0) }
        let mirrors = [2, 3].map { Self.connect(mirror, seed: 4 * seed + $0) }
        var timing = MirrorTiming.short
        timing.settling = .milliseconds(20)
        let times = timing
        let stores = zip(primaries, mirrors).map { primary, mirror in
            MirroringTokenStore(primary: primary, mirrors: [.init(name: "mirror", store: mirror)], timing: times)
        }
        try await whileRunning(stores) {
            // When four tasks write and remove
            await withTaskGroup { tasks in
                for (index, store) in (stores + stores).enumerated() {
                    tasks.addTask { await Self.write(to: store, seed: seed &* 31 &+ UInt64(index)) }
                }
            }
            for connection in primaries + mirrors { connection.recover() }
            primary.landLateWrites()
            mirror.landLateWrites()
            // Then
            try await equal(mirror, primary)
            for store in stores { try await store.upToDate() }
            #expect(try await differences(mirror, from: primary) == [])
            let mark = try MirrorMark(decoding: try #require(mirror.history.record(.mirror)).value)
            #expect(mark.state != .promoted)
        }
    }

    private static func write(to store: any TokenStore, seed: UInt64) async {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<150 {
            guard let key = Self.keys.randomElement(using: &random) else { return }
            let value = SealedBytes(bytes: [UInt8.random(in: .min ... .max, using: &random)])
            let removes = UInt8.random(in: 0..<4, using: &random) == 0
            let current = try? await store.read(key)
            if removes, let current {
                try? await store.remove(key, expecting: current.version)
            } else {
                _ = try? await store.write(value, at: key, expecting: current?.version)
            }
        }
    }
}
