import Proxy
import Testing

@Suite struct ExchangeMachineTests {
    /// Ways to where a machine can stand, and what each event does there.
    struct Row: Sendable, CustomTestStringConvertible {
        let way: [MachineEvent]
        let event: MachineEvent
        let action: String
        let phase: ExchangeMachine.Phase

        init(_ way: [MachineEvent], _ event: MachineEvent, _ action: String, _ phase: ExchangeMachine.Phase) {
            self.way = way
            self.event = event
            self.action = action
            self.phase = phase
        }

        var testDescription: String {
            (self.way + [self.event]).map(\.name).joined(separator: " → ") + " ⇒ \(self.action), \(self.phase)"
        }
    }

    private static let collecting: [MachineEvent] = [.beginCollecting]
    private static let parked: [MachineEvent] = [.begin(hasPass: false)]
    private static let connecting: [MachineEvent] = [.begin(hasPass: true)]
    private static let sending = connecting + [.sent(onReused: false)]
    private static let expecting = connecting + [.sentExpecting(onReused: false)]
    private static let expectingReused = connecting + [.sentExpecting(onReused: true)]
    private static let examining = sending + [.examined]
    private static let sendingReused = connecting + [.sent(onReused: true)]
    private static let judging = sending + [.answered(isDeadToken: true, isRepeatable: true)]
    private static let judgingLost = judging + [.lost(mayRepeat: false)]
    private static let replaying = judging + [.passArrived(isNewer: true)]
    private static let answering = sending + [.answered(isDeadToken: false, isRepeatable: true)]
    private static let tunnelling = sending + [.switched]
    private static let retrying = sendingReused + [.lost(mayRepeat: true)]

    static let begins: [Row] = [
        Row([], .begin(hasPass: true), "connect", .connecting),
        Row([], .begin(hasPass: false), "park", .parked),
        Row(answering + [.ended], .begin(hasPass: true), "connect", .connecting),
        Row([], .beginCollecting, "collect", .collecting),
        Row(collecting, .collected(hasPass: true), "connect", .connecting),
        Row(collecting, .collected(hasPass: false), "park", .parked),
    ]

    static let passes: [Row] = [
        Row([], .passArrived(isNewer: true), "ignore", .idle),
        Row(collecting, .passArrived(isNewer: true), "ignore", .collecting),
        Row(parked, .passArrived(isNewer: true), "connect", .connecting),
        Row(parked, .passArrived(isNewer: false), "connect", .connecting),
        Row(connecting, .passArrived(isNewer: true), "ignore", .connecting),
        Row(sending, .passArrived(isNewer: true), "ignore", .sending),
        Row(judging, .passArrived(isNewer: true), "replay", .connecting),
        Row(judging, .passArrived(isNewer: false), "passHeldAnswer", .answering),
        Row(judgingLost, .passArrived(isNewer: true), "replay", .connecting),
        Row(judgingLost, .passArrived(isNewer: false), "answerReset", .idle),
        Row(expecting, .passArrived(isNewer: true), "ignore", .expecting),
        Row(examining, .passArrived(isNewer: true), "ignore", .examining),
        Row(answering, .passArrived(isNewer: true), "ignore", .answering),
        Row(tunnelling, .passArrived(isNewer: true), "ignore", .tunnelling),
    ]

    static let failures: [Row] = [
        Row([], .failed, "ignore", .idle),
        Row(collecting, .failed, "answer", .idle),
        Row(parked, .failed, "answer", .idle),
        Row(connecting, .failed, "answer", .idle),
        Row(sending, .failed, "ignore", .sending),
        Row(judging, .failed, "answer", .idle),
        Row(judgingLost, .failed, "answer", .idle),
        Row(expecting, .failed, "ignore", .expecting),
        Row(examining, .failed, "ignore", .examining),
        Row(answering, .failed, "ignore", .answering),
        Row(expecting, .upstreamFailed, "answer", .idle),
        Row(examining, .upstreamFailed, "answer", .idle),
        Row(tunnelling, .failed, "ignore", .tunnelling),
        Row([], .upstreamFailed, "abort", .idle),
        Row(collecting, .upstreamFailed, "answer", .idle),
        Row(parked, .upstreamFailed, "answer", .idle),
        Row(connecting, .upstreamFailed, "answer", .idle),
        Row(sending, .upstreamFailed, "answer", .idle),
        Row(judging, .upstreamFailed, "answer", .idle),
        Row(answering, .upstreamFailed, "abort", .idle),
        Row(tunnelling, .upstreamFailed, "abort", .idle),
    ]

    static let sendings: [Row] = [
        Row(connecting, .sent(onReused: true), "()", .sending),
        Row(connecting, .sent(onReused: false), "()", .sending),
        Row(connecting, .lapsed, "park", .parked),
        Row(replaying, .lapsed, "park", .parked),
        Row(connecting, .sentExpecting(onReused: true), "()", .expecting),
        Row(connecting, .sentExpecting(onReused: false), "()", .expecting),
        Row(expecting, .continued, "sendBody", .sending),
        Row([], .continued, "ignore", .idle),
        Row(collecting, .continued, "ignore", .collecting),
        Row(parked, .continued, "ignore", .parked),
        Row(connecting, .continued, "ignore", .connecting),
        Row(sending, .continued, "ignore", .sending),
        Row(examining, .continued, "ignore", .examining),
        Row(judging, .continued, "ignore", .judging),
        Row(answering, .continued, "ignore", .answering),
        Row(tunnelling, .continued, "ignore", .tunnelling),
    ]

    static let answers: [Row] = [
        Row(sending, .answered(isDeadToken: false, isRepeatable: true), "pass", .answering),
        Row(sending, .answered(isDeadToken: false, isRepeatable: false), "pass", .answering),
        Row(sending, .answered(isDeadToken: true, isRepeatable: true), "hold", .judging),
        Row(sending, .answered(isDeadToken: true, isRepeatable: false), "passAndRefresh", .answering),
        Row(
            replaying + [.sent(onReused: false)],
            .answered(isDeadToken: true, isRepeatable: true),
            "passMarkedReplayed",
            .answering
        ),
        Row(
            replaying + [.sent(onReused: false)],
            .answered(isDeadToken: true, isRepeatable: false),
            "passMarkedReplayed",
            .answering
        ),
        Row(
            replaying + [.sent(onReused: false)],
            .answered(isDeadToken: false, isRepeatable: true),
            "pass",
            .answering
        ),
        Row(retrying + [.sent(onReused: false)], .answered(isDeadToken: true, isRepeatable: true), "hold", .judging),
        Row(answering, .ended, "finish", .idle),
        Row(sending, .examined, "read", .examining),
        Row(expecting, .examined, "read", .examining),
        Row(examining, .answered(isDeadToken: false, isRepeatable: true), "pass", .answering),
        Row(examining, .answered(isDeadToken: true, isRepeatable: true), "hold", .judging),
        Row(examining, .answered(isDeadToken: true, isRepeatable: false), "passAndRefresh", .answering),
        Row(
            replaying + [.sent(onReused: false), .examined],
            .answered(isDeadToken: true, isRepeatable: true),
            "passMarkedReplayed",
            .answering
        ),
        Row(expecting, .answered(isDeadToken: false, isRepeatable: true), "pass", .answering),
        Row(expecting, .answered(isDeadToken: true, isRepeatable: true), "hold", .judging),
        Row(expecting, .answered(isDeadToken: true, isRepeatable: false), "passAndRefresh", .answering),
        Row(expecting, .expectationRefused(isKept: true), "sendAgain", .connecting),
        Row(expecting, .expectationRefused(isKept: false), "pass", .answering),
        Row(
            expecting + [.expectationRefused(isKept: true), .sentExpecting(onReused: false)],
            .expectationRefused(isKept: true),
            "pass",
            .answering
        ),
        Row(expecting + [.continued], .expectationRefused(isKept: true), "pass", .answering),
        Row(sending, .expectationRefused(isKept: true), "pass", .answering),
    ]

    static let losses: [Row] = [
        Row([], .lost(mayRepeat: true), "ignore", .idle),
        Row(collecting, .lost(mayRepeat: true), "ignore", .collecting),
        Row(parked, .lost(mayRepeat: true), "ignore", .parked),
        Row(connecting, .lost(mayRepeat: true), "ignore", .connecting),
        Row(sendingReused, .lost(mayRepeat: true), "retry", .connecting),
        Row(sendingReused, .lost(mayRepeat: false), "answerReset", .idle),
        Row(sending, .lost(mayRepeat: true), "answerReset", .idle),
        Row(retrying + [.sent(onReused: true)], .lost(mayRepeat: true), "answerReset", .idle),
        Row(replaying + [.sent(onReused: true)], .lost(mayRepeat: true), "retry", .connecting),
        Row(judging, .lost(mayRepeat: true), "ignore", .judging),
        Row(judgingLost, .lost(mayRepeat: true), "ignore", .judging),
        Row(answering, .lost(mayRepeat: true), "abortCaller", .idle),
        Row(expectingReused, .lost(mayRepeat: true), "retry", .connecting),
        Row(expectingReused, .lost(mayRepeat: false), "answerReset", .idle),
        Row(expectingReused + [.continued], .lost(mayRepeat: true), "retry", .connecting),
        Row(expecting + [.continued], .lost(mayRepeat: true), "answerReset", .idle),
        Row(expecting, .lost(mayRepeat: true), "answerReset", .idle),
        Row(examining, .lost(mayRepeat: false), "answerReset", .idle),
        Row(tunnelling, .lost(mayRepeat: true), "abortCaller", .idle),
        Row(tunnelling + [.tunnelEnded(.caller)], .lost(mayRepeat: true), "abortCaller", .idle),
    ]

    static let tunnels: [Row] =
        [
            Row(sending, .switched, "tunnel", .tunnelling),
            Row(replaying + [.sent(onReused: true)], .switched, "tunnel", .tunnelling),
            Row(tunnelling, .tunnelEnded(.caller), "passOn", .tunnelling),
            Row(tunnelling, .tunnelEnded(.upstream), "passOn", .tunnelling),
            Row(tunnelling + [.tunnelEnded(.caller)], .tunnelEnded(.caller), "ignore", .tunnelling),
            Row(tunnelling + [.tunnelEnded(.caller)], .tunnelEnded(.upstream), "finish", .idle),
            Row(tunnelling + [.tunnelEnded(.upstream)], .tunnelEnded(.upstream), "ignore", .tunnelling),
            Row(tunnelling + [.tunnelEnded(.upstream)], .tunnelEnded(.caller), "finish", .idle),
        ]
        + [
            ([], .idle), (collecting, .collecting), (parked, .parked), (connecting, .connecting), (sending, .sending),
            (expecting, .expecting), (examining, .examining), (judging, .judging), (answering, .answering),
        ].map { way, phase in Row(way, .tunnelEnded(.caller), "ignore", phase) }

    /// What a kill does: to one that carries a token that is dead now, to one that does and may end with it, and to one
    /// that does not; each where tokens may still come for the account, and where none may. Without a connection there is
    /// nothing to carry.
    static let fencings: [Row] = {
        var rows: [Row] = []
        for way in waiting { rows += Self.rows(way, [nil, nil, "ignore", nil, nil, "answer"]) }
        for way in sent { rows += Self.rows(way, ["answer", "drain", "ignore", "answer", "drain", "ignore"]) }
        for way in answered { rows += Self.rows(way, ["abort", "drain", "ignore", "abort", "drain", "ignore"]) }
        rows += Self.rows(judging, ["loseHeldAnswer", "drain", "ignore", "answer", "answer", "answer"])
        rows += Self.rows([], [nil, nil, "ignore", nil, nil, "ignore"])
        return rows
    }()

    /// It has no upstream connection yet, or no more.
    private static let waiting: [[MachineEvent]] = [collecting, parked, connecting, replaying, retrying, judgingLost]
    /// Nothing of an answer has gone to the caller.
    private static let sent: [[MachineEvent]] = [expecting, sending, expecting + [.continued], examining]
    private static let answered: [[MachineEvent]] = [
        answering, tunnelling, tunnelling + [.tunnelEnded(.caller)], tunnelling + [.tunnelEnded(.upstream)],
    ]

    private static func rows(_ way: [MachineEvent], _ actions: [String?]) -> [Row] {
        var machine = ExchangeMachine()
        for event in way { _ = event.happen(to: &machine) }
        var rows: [Row] = []
        for (number, action) in actions.enumerated() {
            guard let action else { continue }
            let event = MachineEvent.fenced(
                carriesDead: number % 3 < 2,
                mayEnd: number % 3 == 1,
                isKilled: number >= 3
            )
            let phase = machine.phase
            rows.append(Row(way, event, action, action == "answer" || action == "abort" ? .idle : phase))
        }
        return rows
    }

    static let leavings: [Row] = [
        [], collecting, parked, connecting, expecting, sending, examining, judging, judgingLost, answering, tunnelling,
        tunnelling + [.tunnelEnded(.upstream)],
    ].map { way in
        Row(way, .abandoned, "()", .idle)
    }

    static let all: [Row] = [
        begins, passes, failures, sendings, answers, losses, tunnels, fencings, leavings,
    ].flatMap(\.self)

    @Test(arguments: all)
    func `each event has its one action and leads to one phase`(row: Row) {
        var machine = ExchangeMachine()
        for event in row.way { _ = event.happen(to: &machine) }

        let action = row.event.happen(to: &machine)

        let phase = machine.phase
        #expect(action == row.action)
        #expect(phase == row.phase)
    }

    @Test func `the table leaves out no event that can happen in a phase`() {
        var told: Set<String> = []
        for row in Self.all {
            var machine = ExchangeMachine()
            for event in row.way { _ = event.happen(to: &machine) }
            told.insert("\(machine.phase) \(Self.kind(row.event))")
        }
        for phase: ExchangeMachine.Phase in [
            .idle, .collecting, .parked, .connecting, .expecting, .sending, .examining, .judging, .answering,
            .tunnelling,
        ] {
            for event in MachineEvent.allCases where event.isPossible(in: phase) {
                #expect(told.contains("\(phase) \(Self.kind(event))"))
            }
        }
    }

    private static func kind(_ event: MachineEvent) -> Substring {
        String(reflecting: event).prefix { $0 != "(" }
    }

    @Test func `a pass may lapse three times, then the caller is told`() {
        var machine = ExchangeMachine()
        _ = machine.begin(hasPass: true)
        for _ in 1...3 {
            let action = machine.lapsed()
            #expect(action == .park)
            _ = machine.passArrived(isNewer: true)
        }

        let action = machine.lapsed()

        let phase = machine.phase
        #expect(action == .answer)
        #expect(phase == .idle)
    }

    @Test func `a request whose held answer was killed goes again with a newer token, or is reset`() {
        for (isNewer, expected) in [(true, ExchangeMachine.PassArrived.replay), (false, .answerReset)] {
            var machine = ExchangeMachine()
            for event in Self.judging + [.fenced(carriesDead: true, isKilled: false)] {
                _ = event.happen(to: &machine)
            }
            let action = machine.passArrived(isNewer: isNewer)
            #expect(action == expected)
        }
    }

    @Test func `lapses are counted over a replay too`() {
        var machine = ExchangeMachine()
        _ = machine.begin(hasPass: true)
        for _ in 1...3 {
            _ = machine.lapsed()
            _ = machine.passArrived(isNewer: true)
        }
        machine.sent(onReused: false)
        _ = machine.answered(.init(isDeadToken: true, isRepeatable: true))
        _ = machine.passArrived(isNewer: true)

        let action = machine.lapsed()

        #expect(action == .answer)
    }

    @Test func `what one request spent the next one has again`() {
        var machine = ExchangeMachine()
        for _ in 1...2 {
            for event in Self.replaying + [.sent(onReused: true)] { _ = event.happen(to: &machine) }
            let lost = machine.upstreamLost(mayRepeat: true)
            #expect(lost == .retry)
            machine.sent(onReused: false)
            _ = machine.answered(.init(isDeadToken: false, isRepeatable: true))
            let end = machine.answerEnded()
            #expect(end == .finish)
        }
    }

    /// Actions with which a request is over.
    private static let last: Set<String> = ["finish", "answer", "answerReset", "abortCaller"]

    @Test(arguments: 1...200 as ClosedRange<UInt64>)
    func `what goes in comes out once, with at most one replay and one retry, on any way`(seed: UInt64) {
        var random = SeededGenerator(seed)
        var machine = ExchangeMachine()
        var begun = 0
        var over = 0
        var spent: [String: Int] = [:]
        for _ in 1...300 {
            let phase = machine.phase
            let events = MachineEvent.allCases.filter { $0.isPossible(in: phase) }
            let event = events[Int(random.next() % UInt64(events.count))]

            let action = event.happen(to: &machine)

            switch event {
            case .begin, .beginCollecting:
                begun += 1
                spent = [:]
            default: break
            }
            spent[action, default: 0] += 1
            if Self.last.contains(action) { over += 1 }
            if phase != .idle, event == .abandoned || action == "abort" { over += 1 }
            let isOver = begun == over
            let isIdle = machine.phase == .idle
            #expect(isOver == isIdle, "\(event.name) in \(phase): \(action)")
            #expect(spent["replay", default: 0] <= 1)
            #expect(spent["retry", default: 0] <= 1)
            #expect(spent["sendAgain", default: 0] <= 1)
            #expect(spent["park", default: 0] <= 4)
        }
        #expect(begun > 1)
    }
}

/// The same numbers for the same seed (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { self.state = seed }

    mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var value = self.state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
