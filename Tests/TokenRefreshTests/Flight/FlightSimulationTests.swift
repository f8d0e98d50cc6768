import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// Long histories of several replicas, checked as a whole.
@Suite struct FlightSimulationTests {
    typealias Weather = FlightSimulation.Weather

    static let weathers: [(String, Weather)] = [
        ("fair", Weather()),
        ("slow and failing store", Weather(storeFails: 0.15)),
        ("stopped processes", Weather(stops: 0.05)),
        ("stopped processes and a failing store", Weather(storeFails: 0.1, stops: 0.05)),
        ("lost answers", Weather(storeFails: 0.05, answerIsLost: 0.1)),
        ("killed processes", Weather(storeFails: 0.05, dies: 0.03)),
        ("refused clients", Weather(storeFails: 0.05, answerIsLost: 0.02, clientIsRefused: 0.4)),
        ("late answers", Weather(storeFails: 0.05, answersWithin: .seconds(60))),
        ("late answers, all else", Weather(storeFails: 0.1, stops: 0.05, dies: 0.02, answersWithin: .seconds(60))),
        ("everything", Weather(storeFails: 0.1, answerIsLost: 0.05, stops: 0.05, dies: 0.02)),
    ]

    @Test(arguments: weathers)
    func `I1_I2_no refresh token is used twice at once and no success is lost`(
        name: String,
        weather: Weather
    ) {
        var commits = 0
        for seed in 0..<20 {
            var simulation = FlightSimulation(seed: UInt64(seed), replicas: 3, weather: weather)
            simulation.run(for: weather.answersWithin * 25)

            #expect(simulation.faults.isEmpty, "seed \(seed)")
            commits += simulation.commits
            // What the provider rotated and nobody was told of, nobody can have; all else must be alive.
            if !simulation.isLossExcused {
                #expect(simulation.stored?.record.trouble?.dead != true, "seed \(seed)")
                #expect(simulation.commits > 10, "seed \(seed)")
            }
        }
        #expect(commits > 100)
    }
}
