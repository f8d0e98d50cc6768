import Simulation
import TestKit
import Testing

/// Kills in seeded schedules, over a store with every fault that a store shared by several hosts may have.
///
/// The tests run one after the other, because other tests need CPU time too. `MARTLET_SCHEDULES` sets the number of
/// schedules of each kind; see Model.
@Suite struct KillSimulationTests {
    typealias Weather = KillSimulation.Weather

    static let schedules = Schedules.seeds(or: 2).count

    @Test(arguments: [
        ("slow and failing", Weather(storeFails: 0.1)),
        ("stale reads", Weather(isStale: 0.3)),
        ("stopped and ended processes", Weather(stops: 0.02, dies: 0.005)),
        ("all of it", Weather(storeFails: 0.05, isStale: 0.1, stops: 0.01, dies: 0.003)),
        ("a lost suffix", Weather(losesSuffix: 0.004)),
        ("a lost suffix and stale reads", Weather(isStale: 0.1, losesSuffix: 0.004)),
        (
            "a lost suffix and all of it",
            Weather(storeFails: 0.05, isStale: 0.1, losesSuffix: 0.002, stops: 0.01, dies: 0.003)
        ),
    ])
    func `I2_I3_I4_I6_no replica sends killed tokens, each kill is stored once, and leases need a stored log`(
        _ name: String,
        _ weather: Weather
    ) async {
        var (complete, leases, folds, restored) = (0, 0, 0, 0)
        for seed in Schedules.seeds(or: 2) {
            var simulation = KillSimulation(seed: seed, weather: weather)
            await simulation.run(for: .seconds(60))
            await Task.yield()
            #expect(simulation.violations == [], "\(name), seed \(seed)")
            complete += simulation.complete.count
            leases += simulation.pollsThatGaveALease
            folds += simulation.folds
            restored += simulation.restored
        }
        #expect(complete > Self.schedules)
        #expect(leases > 10 * Self.schedules)
        #expect(folds > Self.schedules)
        if weather.losesSuffix > 0 { #expect(restored > 0) }
    }

    /// Leaving out a rule makes some fault of the store violate an invariant. The search begins at a seed with which it
    /// did.
    @Test(arguments: [
        (KillSimulation.Mutation.leaseByReading, Weather(isStale: 0.8), 4),
        (.forgetfulStore, Weather(isStale: 0.5, dies: 0.02), 16),
        (.leaseFromTheEnd, Weather(storeFails: 0.2, stops: 0.03), 77),
        (.ordersAreDropped, Weather(storeFails: 0.2), 0),
        (.nothingIsRestored, Weather(losesSuffix: 0.004), 12),
    ])
    func `if a rule is left out, some schedule violates what the rule protects`(
        _ mutation: KillSimulation.Mutation,
        _ weather: Weather,
        from first: Int
    ) async {
        var seed = UInt64(first)
        var violations: [String] = []
        while violations.isEmpty, seed < 2_000 {
            var simulation = KillSimulation(seed: seed, weather: weather, without: mutation)
            await simulation.run(for: .seconds(60))
            await Task.yield()
            violations = simulation.violations
            seed += 1
        }
        print("without \(mutation): seed \(seed - 1), \(violations)")
        #expect(!violations.isEmpty, "\(mutation)")
    }
}
