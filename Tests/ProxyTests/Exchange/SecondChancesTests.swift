import Proxy
import Testing

/// For what a request is sent again, in any order in which that can come.
@Suite struct SecondChancesTests {
    /// What brings a request that is in `phase` nearer to being sent again.
    private static func reasons(in phase: ExchangeMachine.Phase) -> [MachineEvent] {
        switch phase {
        case .parked, .judging: [.passArrived(isNewer: true)]
        case .connecting: [.lapsed, .sent(onReused: true), .sentExpecting(onReused: true)]
        case .sending: [.answered(isDeadToken: true, isRepeatable: true), .lost(mayRepeat: true)]
        case .expecting:
            [
                .answered(isDeadToken: true, isRepeatable: true), .lost(mayRepeat: true),
                .expectationRefused(isKept: true),
            ]
        case .idle, .collecting, .examining, .answering, .tunnelling, .poisoned: []
        }
    }

    /// How often each may happen to one request.
    private static let most = ["replay": 1, "retry": 1, "sendAgain": 1, "park": 3]

    @Test func `I10_I11_ each second chance is had once, whichever others come before and behind it`() {
        var tooOften: [String] = []
        var mostAtOnce = 0
        // Given every way of so many events
        var ways: [[MachineEvent]] = [[.begin(hasPass: true)]]
        for _ in 1...11 {
            ways = ways.flatMap { way in
                var machine = ExchangeMachine()
                // When it is gone
                let actions = way.map { $0.happen(to: &machine) }
                // Then no chance was had twice
                for (chance, limit) in Self.most where actions.count(where: { $0 == chance }) > limit {
                    tooOften.append("\(chance): \(way.map(\.name))")
                }
                mostAtOnce = max(mostAtOnce, Self.most.keys.count(where: actions.contains))
                return Self.reasons(in: machine.phase).map { way + [$0] }
            }
        }
        #expect(tooOften.isEmpty)
        // All of them were had on one way.
        #expect(mostAtOnce == Self.most.count)
    }
}
