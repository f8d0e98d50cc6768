import Proxy
import Testing

@Suite struct FencingReachTests {
    /// The state of an exchange, and the consequences of these reaches in their order: nothing; a killed account; a
    /// dead token; both; a dead token whose exchange may end; both.
    struct Row: Sendable, CustomTestStringConvertible {
        let attempt: Attempt.Phase
        let response: ResponseStream.Phase
        let consequences: [FencingReach.Consequence]

        init(
            _ attempt: Attempt.Phase,
            _ response: ResponseStream.Phase,
            _ consequences: [FencingReach.Consequence]
        ) {
            self.attempt = attempt
            self.response = response
            self.consequences = consequences
        }

        var testDescription: String { "\(self.attempt), \(self.response)" }
    }

    private static let reaches: [FencingReach] = [
        FencingReach(carriesDead: false, mayEnd: false, isKilled: false),
        FencingReach(carriesDead: false, mayEnd: false, isKilled: true),
        FencingReach(carriesDead: true, mayEnd: false, isKilled: false),
        FencingReach(carriesDead: true, mayEnd: false, isKilled: true),
        FencingReach(carriesDead: true, mayEnd: true, isKilled: false),
        FencingReach(carriesDead: true, mayEnd: true, isKilled: true),
    ]

    static let rows: [Row] = [
        // The request's body is still being collected.
        Row(.idle, .none, [.ignore, .reply, .ignore, .reply, .ignore, .reply]),
        Row(.waiting, .none, [.ignore, .reply, .ignore, .reply, .ignore, .reply]),
        Row(.connecting, .none, [.ignore, .reply, .ignore, .reply, .ignore, .reply]),
        Row(.asked, .none, [.ignore, .ignore, .reply, .reply, .drain, .drain]),
        Row(.sent, .none, [.ignore, .ignore, .reply, .reply, .drain, .drain]),
        Row(.sent, .inspecting, [.ignore, .ignore, .reply, .reply, .drain, .drain]),
        Row(.waiting, .held, [.ignore, .reply, .loseHeld, .reply, .drain, .reply]),
        Row(.settled, .passing, [.ignore, .ignore, .abort, .abort, .drain, .drain]),
        Row(.settled, .ended, [.ignore, .ignore, .stopRequest, .stopRequest, .drain, .drain]),
        Row(.poisoned, .none, [.abort, .abort, .abort, .abort, .abort, .abort]),
    ]

    @Test(arguments: rows)
    func `a kill ends what carries a killed token, and what waits for a killed account`(row: Row) {
        let consequences = Self.reaches.map { $0.consequence(row.attempt, row.response) }
        #expect(consequences == row.consequences)
    }
}
