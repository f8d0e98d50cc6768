import Simulation
import TestKit
import Testing

/// Long, seeded schedules of several replicas. Their store has every fault that a store for several hosts may have.
///
/// The tests run one after the other, because other tests need CPU time too. `MARTLET_SCHEDULES` sets the number of
/// schedules per test; see the article Model.
@Suite struct FlightSimulationTests {
    typealias Weather = FlightSimulation.Weather

    static let weathers: [(String, Weather)] = [
        ("fair", Weather()),
        ("failing store", Weather(storeFails: 0.15)),
        ("late writes", Weather(storeFails: 0.2, failures: [.late(calls: 2), .late(calls: 20), .late(calls: 60)])),
        ("stale reads", Weather(isStale: 0.3)),
        ("stalls", Weather(storeStalls: 0.2)),
        ("stopped processes", Weather(stops: 0.05)),
        ("stopped processes and a failing store", Weather(storeFails: 0.1, storeStalls: 0.1, stops: 0.05)),
        ("lost answers", Weather(storeFails: 0.05, answerIsLost: 0.1)),
        ("killed processes", Weather(storeFails: 0.05, dies: 0.01)),
        ("refused clients", Weather(storeFails: 0.05, answerIsLost: 0.02, clientIsRefused: 0.4)),
        ("late answers", Weather(storeFails: 0.05, storeStalls: 0.05, answersWithin: .seconds(60))),
        ("lost suffix", Weather(losesSuffix: 0.003)),
        ("lost suffix and stale reads", Weather(storeFails: 0.05, isStale: 0.1, losesSuffix: 0.003)),
        ("lost suffix and stopped processes", Weather(storeStalls: 0.1, losesSuffix: 0.003, stops: 0.03)),
        (
            "everything",
            Weather(
                storeFails: 0.1,
                storeStalls: 0.05,
                isStale: 0.1,
                losesSuffix: 0.002,
                answerIsLost: 0.002,
                stops: 0.03,
                dies: 0.003
            )
        ),
    ]

    @Test(arguments: weathers)
    func `I1_I2_no refresh token is sent twice at once or after it is known to be spent, and no success is lost`(
        name: String,
        weather: Weather
    ) async throws {
        let seeds = Schedules.seeds(or: 2)
        var (commits, repairs, excused) = (0, 0, 0)
        for seed in seeds {
            var simulation = FlightSimulation(seed: seed, weather: weather)
            try await simulation.run(for: weather.answersWithin * 15)
            // Lets other tests run.
            await Task.yield()
            #expect(simulation.violations == [], "\(name), seed \(seed)")
            commits += simulation.commits
            repairs += simulation.repairs
            excused += simulation.isLossExcused ? 1 : 0
            // Without an excused loss, refreshes must go on in fair weather.
            if !simulation.isLossExcused { #expect(simulation.fairCommits > 1, "\(name), seed \(seed)") }
        }
        print("flights, \(name): \(seeds.count) schedules, \(commits) commits, \(repairs) repairs, \(excused) excused")
        #expect(commits > 5 * seeds.count)
        #expect(repairs > 0 || weather.losesSuffix == 0)
    }

    /// Each fault of a store leads to a violation if the rule against it is omitted. The search begins at a seed with
    /// which it did.
    @Test(arguments: [
        (FlightSimulation.Mutation.commitsAreGivenUp, Weather(storeFails: 0.1, failures: [.away]), 1),
        (.writesAreNotReadBack, Weather(storeFails: 0.1, failures: [.unanswered]), 0),
        (.claimsNeedNoAnswer, Weather(storeFails: 0.2, failures: [.late(calls: 60)]), 0),
        (.claimsCountFromTheAnswer, Weather(storeStalls: 0.2, stops: 0.1), 91),
        (.writesAreBlind, Weather(isStale: 0.3), 0),
        (.nothingIsPutBack, Weather(losesSuffix: 0.003), 0),
        (.oldTokensAreSent, Weather(losesSuffix: 0.01), 19),
    ])
    func `for each omitted rule, some schedule leads to a violation`(
        _ mutation: FlightSimulation.Mutation,
        _ weather: Weather,
        from first: Int
    ) async throws {
        var (seed, violations): (UInt64, [String]) = (UInt64(first), [])
        while violations.isEmpty, seed < 2_000 {
            var simulation = FlightSimulation(seed: seed, weather: weather, without: mutation)
            try await simulation.run(for: .seconds(120))
            await Task.yield()
            violations = simulation.violations
            seed += 1
        }
        print("without \(mutation): seed \(seed - 1), \(violations)")
        #expect(!violations.isEmpty, "\(mutation)")
    }
}
