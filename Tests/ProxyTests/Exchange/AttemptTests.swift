import Proxy
import Testing

@Suite struct AttemptTests {
    /// A sequence of events that leads to a phase, and what one more event does there.
    struct Row: Sendable, CustomTestStringConvertible {
        let way: [AttemptEvent]
        let event: AttemptEvent
        let action: String
        let phase: Attempt.Phase

        init(_ way: [AttemptEvent], _ event: AttemptEvent, _ action: String, _ phase: Attempt.Phase) {
            self.way = way
            self.event = event
            self.action = action
            self.phase = phase
        }

        var testDescription: String { "\(self.way) → \(self.event) ⇒ \(self.action), \(self.phase)" }
    }

    private static let waiting: [AttemptEvent] = [.begin(hasCredential: false)]
    private static let connecting: [AttemptEvent] = [.begin(hasCredential: true)]
    private static let sent = connecting + [.sent(onReused: false, asks: false)]
    private static let sentReused = connecting + [.sent(onReused: true, asks: false)]
    private static let asked = connecting + [.sent(onReused: false, asks: true)]
    private static let askedReused = connecting + [.sent(onReused: true, asks: true)]
    private static let holding = sent + [.judged(rejectsToken: true, isRepeatable: true)]
    private static let replaying = holding + [.credential(isNewer: true)]
    private static let replayed = replaying + [.sent(onReused: false, asks: false)]
    private static let retried = sentReused + [.lost(mayRepeat: true), .sent(onReused: true, asks: false)]
    private static let settled = sent + [.judged(rejectsToken: false, isRepeatable: true)]
    private static let unasked = asked + [.refusedExpectation(isKept: true), .sent(onReused: false, asks: true)]

    static let rows: [Row] = [
        Row([], .begin(hasCredential: true), "connect", .connecting),
        Row([], .begin(hasCredential: false), "wait", .waiting),

        Row([], .credential(isNewer: true), "ignore", .idle),
        Row(waiting, .credential(isNewer: true), "connect", .connecting),
        Row(waiting, .credential(isNewer: false), "connect", .connecting),
        Row(connecting, .credential(isNewer: true), "ignore", .connecting),
        Row(sent, .credential(isNewer: true), "ignore", .sent),
        Row(asked, .credential(isNewer: true), "ignore", .asked),
        Row(holding, .credential(isNewer: true), "replay", .connecting),
        Row(holding, .credential(isNewer: false), "passHeld", .settled),
        Row(settled, .credential(isNewer: true), "ignore", .settled),

        Row(connecting, .lapsed, "wait", .waiting),
        Row(replaying, .lapsed, "wait", .waiting),
        // The attempt has given up the rejected token already, so any credential that comes now is a different one.
        Row(replaying + [.lapsed], .credential(isNewer: false), "connect", .connecting),

        Row(connecting, .sent(onReused: true, asks: false), "()", .sent),
        Row(connecting, .sent(onReused: false, asks: true), "()", .asked),
        Row(asked, .continued, "start", .sent),
        Row([], .continued, "ignore", .idle),
        Row(waiting, .continued, "ignore", .waiting),
        Row(connecting, .continued, "ignore", .connecting),
        Row(sent, .continued, "ignore", .sent),
        Row(settled, .continued, "ignore", .settled),

        Row(sent, .judged(rejectsToken: false, isRepeatable: true), "pass", .settled),
        Row(sent, .judged(rejectsToken: false, isRepeatable: false), "pass", .settled),
        Row(sent, .judged(rejectsToken: true, isRepeatable: true), "hold", .waiting),
        Row(sent, .judged(rejectsToken: true, isRepeatable: false), "passAndRefresh", .settled),
        Row(asked, .judged(rejectsToken: false, isRepeatable: true), "pass", .settled),
        Row(asked, .judged(rejectsToken: true, isRepeatable: true), "hold", .waiting),
        Row(asked, .judged(rejectsToken: true, isRepeatable: false), "passAndRefresh", .settled),
        Row(replayed, .judged(rejectsToken: false, isRepeatable: true), "pass", .settled),
        Row(replayed, .judged(rejectsToken: true, isRepeatable: true), "passMarkedReplayed", .settled),
        Row(replayed, .judged(rejectsToken: true, isRepeatable: false), "passMarkedReplayed", .settled),
        Row(retried, .judged(rejectsToken: true, isRepeatable: true), "hold", .waiting),
        Row(asked, .refusedExpectation(isKept: true), "sendAgain", .connecting),
        Row(asked, .refusedExpectation(isKept: false), "pass", .settled),
        Row(unasked, .refusedExpectation(isKept: true), "pass", .settled),
        Row(sent, .refusedExpectation(isKept: true), "pass", .settled),

        Row(sent, .switched, "()", .settled),

        Row([], .lost(mayRepeat: true), "fail", .idle),
        Row(waiting, .lost(mayRepeat: true), "fail", .waiting),
        Row(connecting, .lost(mayRepeat: true), "fail", .connecting),
        Row(settled, .lost(mayRepeat: true), "fail", .settled),
        Row(sent, .lost(mayRepeat: true), "fail", .sent),
        Row(sentReused, .lost(mayRepeat: true), "retry", .connecting),
        Row(sentReused, .lost(mayRepeat: false), "fail", .sent),
        Row(askedReused, .lost(mayRepeat: true), "retry", .connecting),
        Row(asked, .lost(mayRepeat: true), "fail", .asked),
        Row(retried, .lost(mayRepeat: true), "fail", .sent),
    ]

    static let resets: [Row] = [[], waiting, connecting, sent, asked, holding, settled].map { way in
        Row(way, .reset, "()", .idle)
    }

    @Test(arguments: rows + resets)
    func `each event has exactly one action and leads to one phase`(row: Row) {
        // Given
        var attempt = Attempt()
        for event in row.way { _ = event.happen(to: &attempt) }
        // When
        let action = row.event.happen(to: &attempt)
        // Then
        let phase = attempt.phase
        #expect(action == row.action)
        #expect(phase == row.phase)
    }

    @Test func `the table covers every event that can happen in each phase`() {
        var told: Set<String> = []
        for row in Self.rows + Self.resets {
            var attempt = Attempt()
            for event in row.way { _ = event.happen(to: &attempt) }
            told.insert("\(attempt.phase) \(Self.kind(row.event))")
        }
        for phase: Attempt.Phase in [.idle, .waiting, .connecting, .asked, .sent, .settled] {
            for event in AttemptEvent.allCases where event.isPossible(in: phase) {
                #expect(told.contains("\(phase) \(Self.kind(event))"))
            }
        }
    }

    private static func kind(_ event: AttemptEvent) -> Substring {
        String(reflecting: event).prefix { $0 != "(" }
    }

    @Test func `a credential may lapse three times, also across a replay, before the request fails`() {
        for isReplayed in [false, true] {
            var attempt = Attempt()
            _ = attempt.begin(hasCredential: true)
            for _ in 1...3 {
                let action = attempt.lapsed()
                #expect(action == .wait)
                _ = attempt.credentialArrived(isNewer: true)
            }
            if isReplayed {
                attempt.sent(onReused: false)
                _ = attempt.judge(.init(rejectsToken: true, isRepeatable: true))
                _ = attempt.credentialArrived(isNewer: true)
            }

            let action = attempt.lapsed()

            #expect(action == .fail)
        }
    }

    /// The events that bring a request in `phase` nearer to being sent again.
    private static func reasons(in phase: Attempt.Phase) -> [AttemptEvent] {
        switch phase {
        case .waiting: [.credential(isNewer: true)]
        case .connecting: [.lapsed, .sent(onReused: true, asks: false), .sent(onReused: true, asks: true)]
        case .sent: [.judged(rejectsToken: true, isRepeatable: true), .lost(mayRepeat: true)]
        case .asked:
            [
                .judged(rejectsToken: true, isRepeatable: true), .lost(mayRepeat: true),
                .refusedExpectation(isKept: true),
            ]
        case .idle, .settled, .poisoned: []
        }
    }

    /// How often each action may happen to one request.
    private static let most = ["replay": 1, "retry": 1, "sendAgain": 1, "wait": 3]

    @Test func `I10_I11_ each second chance is granted once, whatever others come before and after it`() {
        var tooOften: [String] = []
        var mostAtOnce = 0
        // Given every sequence of that many events
        var ways: [[AttemptEvent]] = [[.begin(hasCredential: true)]]
        for _ in 1...11 {
            ways = ways.flatMap { way in
                var attempt = Attempt()
                // When the sequence is applied
                let actions = way.map { $0.happen(to: &attempt) }
                // Then no second chance is granted more often than its limit
                for (chance, limit) in Self.most where actions.count(where: { $0 == chance }) > limit {
                    tooOften.append("\(chance): \(way)")
                }
                mostAtOnce = max(mostAtOnce, Self.most.keys.count(where: actions.contains))
                return Self.reasons(in: attempt.phase).map { way + [$0] }
            }
        }
        #expect(tooOften.isEmpty)
        // One sequence uses all of them.
        #expect(mostAtOnce == Self.most.count)
    }

    @Test(arguments: 1...200 as ClosedRange<UInt64>)
    func `each request gets all its second chances anew, after any sequence of events`(seed: UInt64) {
        var random = SeededGenerator(seed)
        var attempt = Attempt()
        var begun = 0
        var spent: [String: Int] = [:]
        for _ in 1...300 {
            let phase = attempt.phase
            let events = AttemptEvent.allCases.filter { $0.isPossible(in: phase) }
            let event = events[Int(random.next() % UInt64(events.count))]

            let action = event.happen(to: &attempt)

            if case .begin = event {
                begun += 1
                spent = [:]
            }
            spent[action, default: 0] += 1
            for (chance, limit) in Self.most where chance != "wait" {
                #expect(spent[chance, default: 0] <= limit, "\(event) in \(phase): \(action)")
            }
        }
        #expect(begun > 1)
    }
}
