import Proxy

/// Something that happens to an ``ExchangeMachine``, as a value.
enum MachineEvent: Sendable, Hashable, CaseIterable {
    case fenced(carriesDead: Bool, mayEnd: Bool = false, isKilled: Bool)
    case begin(hasPass: Bool)
    case beginCollecting
    case collected(hasPass: Bool)
    case passArrived(isNewer: Bool)
    case failed
    case lapsed
    case sent(onReused: Bool)
    case sentExpecting(onReused: Bool)
    case continued
    case answered(isDeadToken: Bool, isRepeatable: Bool)
    case expectationRefused(isKept: Bool)
    case examined
    case lost(mayRepeat: Bool)
    case ended
    case switched
    case tunnelEnded(ExchangeMachine.Side)
    case upstreamFailed
    case abandoned

    static let allCases: [MachineEvent] = [
        .begin(hasPass: true), .begin(hasPass: false), .beginCollecting, .collected(hasPass: true),
        .collected(hasPass: false), .passArrived(isNewer: true), .passArrived(isNewer: false),
        .failed,
        .lapsed, .sent(onReused: true), .sent(onReused: false), .answered(isDeadToken: true, isRepeatable: true),
        .answered(isDeadToken: true, isRepeatable: false), .answered(isDeadToken: false, isRepeatable: true),
        .answered(isDeadToken: false, isRepeatable: false), .sentExpecting(onReused: true),
        .sentExpecting(onReused: false), .continued, .expectationRefused(isKept: true),
        .expectationRefused(isKept: false), .examined, .lost(mayRepeat: true), .lost(mayRepeat: false), .ended,
        .switched, .tunnelEnded(.caller), .tunnelEnded(.upstream), .upstreamFailed, .abandoned,
        .fenced(carriesDead: false, isKilled: false), .fenced(carriesDead: false, isKilled: true),
        .fenced(carriesDead: true, isKilled: false), .fenced(carriesDead: true, isKilled: true),
        .fenced(carriesDead: true, mayEnd: true, isKilled: false),
        .fenced(carriesDead: true, mayEnd: true, isKilled: true),
    ]

    /// Makes it happen.
    ///
    /// - Returns: the name of the action that came out.
    func happen(to machine: inout ExchangeMachine) -> String {
        switch self {
        case .fenced(let carriesDead, let mayEnd, let isKilled):
            "\(machine.fenced(.init(carriesDead: carriesDead, mayEnd: mayEnd, isKilled: isKilled)))"
        case .begin(let hasPass): "\(machine.begin(hasPass: hasPass))"
        case .beginCollecting: "\(machine.begin(hasPass: true, collectsBody: true))"
        case .collected(let hasPass): "\(machine.collected(hasPass: hasPass))"
        case .passArrived(let isNewer): "\(machine.passArrived(isNewer: isNewer))"
        case .failed: "\(machine.failed())"
        case .lapsed: "\(machine.lapsed())"
        case .sent(let isReused): "\(machine.sent(onReused: isReused))"
        case .sentExpecting(let isReused): "\(machine.sent(onReused: isReused, expects: true))"
        case .continued: "\(machine.continued())"
        case .expectationRefused(let isKept):
            "\(machine.answered(.init(isDeadToken: false, isRepeatable: false, refusesExpectation: isKept)))"
        case .examined: "\(machine.examined())"
        case .answered(let isDeadToken, let isRepeatable):
            "\(machine.answered(.init(isDeadToken: isDeadToken, isRepeatable: isRepeatable)))"
        case .lost(let mayRepeat): "\(machine.upstreamLost(mayRepeat: mayRepeat))"
        case .ended: "\(machine.answerEnded())"
        case .switched: "\(machine.switched())"
        case .tunnelEnded(let side): "\(machine.tunnelEnded(side))"
        case .upstreamFailed: machine.upstreamFailed() ? "answer" : "abort"
        case .abandoned: "\(machine.abandoned())"
        }
    }

    /// Whether a shell that keeps its books can cause it in that phase; else it would poison the machine.
    func isPossible(in phase: ExchangeMachine.Phase) -> Bool {
        switch self {
        case .begin, .beginCollecting: phase == .idle
        case .collected: phase == .collecting
        case .lapsed, .sent, .sentExpecting: phase == .connecting
        case .answered: phase == .sending || phase == .expecting || phase == .examining
        case .expectationRefused, .examined: phase == .sending || phase == .expecting
        case .switched: phase == .sending
        case .ended: phase == .answering
        case .passArrived, .failed, .continued, .lost, .tunnelEnded, .upstreamFailed, .abandoned, .fenced:
            phase != .poisoned
        }
    }

    /// For people.
    var name: String {
        switch self {
        case .fenced(let carriesDead, let mayEnd, let isKilled):
            (isKilled ? "killed" : "token killed") + (carriesDead ? ", carries it" : "") + (mayEnd ? ", may end" : "")
        case .begin(let hasPass): hasPass ? "begin with a pass" : "begin without a pass"
        case .beginCollecting: "begin with a body to collect"
        case .collected(let hasPass): hasPass ? "collected, with a pass" : "collected, without a pass"
        case .passArrived(let isNewer): isNewer ? "a newer pass" : "the same pass"
        case .failed: "no pass or no connection"
        case .lapsed: "pass lapsed"
        case .sent(let isReused): isReused ? "sent on a reused connection" : "sent on a new connection"
        case .sentExpecting(let isReused):
            isReused ? "sent on a reused connection, asking" : "sent on a new connection, asking"
        case .continued: "go on"
        case .expectationRefused(let isKept): isKept ? "417" : "417, body not kept"
        case .examined: "an answer to look at"
        case .answered(let isDead, let isRepeatable):
            (isDead ? "dead token" : "answer") + (isRepeatable ? ", repeatable" : ", not repeatable")
        case .lost(let mayRepeat): mayRepeat ? "lost, may repeat" : "lost"
        case .ended: "answer ended"
        case .switched: "101"
        case .tunnelEnded(let side): "\(side) ended its side"
        case .upstreamFailed: "upstream failed"
        case .abandoned: "caller gone"
        }
    }
}
