import TestKit
import Testing

/// Kills over a store that does all that one of several hosts may do, by seeded schedules.
///
/// `MARTLET_SCHEDULES` says how many of each; `scripts/faults --cases schedules` runs 10,000.
@Suite struct KillSimulationTests {
    typealias Weather = KillSimulation.Weather

    static let schedules = Schedules.count(or: 60)

    @Test(arguments: [
        ("slow and failing", Weather(storeFails: 0.1)),
        ("stale reads", Weather(isStale: 0.3)),
        ("stopped and ended processes", Weather(stops: 0.02, dies: 0.005)),
        ("all of it", Weather(storeFails: 0.05, isStale: 0.1, stops: 0.01, dies: 0.003)),
    ])
    func `I3_I4_I6_what is complete nobody sends, and each kill stands once`(
        _ name: String,
        _ weather: Weather
    ) async {
        var (complete, leases) = (0, 0)
        for seed in 0..<UInt64(Self.schedules) {
            var simulation = KillSimulation(seed: seed, weather: weather)
            await simulation.run(for: .seconds(60))
            #expect(simulation.violations == [], "\(name), seed \(seed)")
            complete += simulation.complete.count
            leases += simulation.pollsThatGaveALease
        }
        #expect(complete > Self.schedules)
        #expect(leases > 10 * Self.schedules)
    }
}
