import SimulatedCluster
import Simulation
import TestKit
import Testing

/// The whole cluster, by seeds. `MARTLET_SCHEDULES` says which, and `scripts/cluster` runs many; see the article Model.
struct SimulatedClusterTests {
    @Test func `I1 to I6, I12 to I14, I20: no seed violates a promise, and every account can be used in the end`()
        async throws
    {
        var counts: [Ledger.Count: Int] = [:]
        let seeds = Schedules.seeds(or: 3)
        for seed in seeds {
            let cluster = SimulatedCluster(seed: seed)
            try await cluster.run()
            #expect(cluster.ledger.violations.isEmpty, "\(cluster.account)")
            for count in Ledger.Count.allCases { counts[count, default: 0] += cluster.ledger.count(count) }
        }
        // Otherwise the seeds show nothing.
        #expect(counts[.sent, default: 0] > 100 * seeds.count)
        #expect(counts[.refreshed, default: 0] > 5 * seeds.count)
        #expect(counts[.killed, default: 0] > seeds.count)
    }

    @Test(arguments: Mutation.allCases)
    func `without one of the rules, some seed violates a promise`(_ mutation: Mutation) async throws {
        var seed = mutation.seed
        var isFound = false
        while !isFound, seed < mutation.seed + 100 {
            let cluster = SimulatedCluster(seed: seed, weather: mutation.weather, without: mutation)
            try await cluster.run()
            isFound = cluster.ledger.violations.contains(where: mutation.explains)
            seed += 1
        }
        #expect(isFound, "\(mutation.rawValue)")
    }
}
