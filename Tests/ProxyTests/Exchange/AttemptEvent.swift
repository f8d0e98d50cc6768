import Proxy

/// An event of an ``Attempt``, as a value.
enum AttemptEvent: Sendable, Hashable, CaseIterable {
    case begin(hasCredential: Bool)
    case credential(isNewer: Bool)
    case lapsed
    case sent(onReused: Bool, asks: Bool)
    case continued
    case judged(rejectsToken: Bool, isRepeatable: Bool)
    case refusedExpectation(isKept: Bool)
    case switched
    case lost(mayRepeat: Bool)
    case reset

    static let allCases: [AttemptEvent] = [
        .begin(hasCredential: true), .begin(hasCredential: false), .credential(isNewer: true),
        .credential(isNewer: false), .lapsed, .sent(onReused: true, asks: false), .sent(onReused: false, asks: false),
        .sent(onReused: true, asks: true), .sent(onReused: false, asks: true), .continued,
        .judged(rejectsToken: true, isRepeatable: true), .judged(rejectsToken: true, isRepeatable: false),
        .judged(rejectsToken: false, isRepeatable: true), .judged(rejectsToken: false, isRepeatable: false),
        .refusedExpectation(isKept: true), .refusedExpectation(isKept: false), .switched, .lost(mayRepeat: true),
        .lost(mayRepeat: false), .reset,
    ]

    /// Applies the event to `attempt`.
    ///
    /// - Returns: the name of the resulting action.
    func happen(to attempt: inout Attempt) -> String {
        switch self {
        case .begin(let hasCredential): "\(attempt.begin(hasCredential: hasCredential))"
        case .credential(let isNewer): "\(attempt.credentialArrived(isNewer: isNewer))"
        case .lapsed: "\(attempt.lapsed())"
        case .sent(let isReused, let asks): "\(attempt.sent(onReused: isReused, asks: asks))"
        case .continued: attempt.continued() ? "start" : "ignore"
        case .judged(let rejectsToken, let isRepeatable):
            "\(attempt.judge(.init(rejectsToken: rejectsToken, isRepeatable: isRepeatable)))"
        case .refusedExpectation(let isKept):
            "\(attempt.judge(.init(rejectsToken: false, isRepeatable: isKept, refusesExpectation: isKept)))"
        case .switched: "\(attempt.switched())"
        case .lost(let mayRepeat): attempt.lost(mayRepeat: mayRepeat) ? "retry" : "fail"
        case .reset: "\(attempt.reset())"
        }
    }

    /// Whether a correct shell can cause the event in that phase. Any other event poisons the state machine.
    func isPossible(in phase: Attempt.Phase) -> Bool {
        switch self {
        case .begin: phase == .idle
        case .lapsed, .sent: phase == .connecting
        case .judged, .refusedExpectation: phase == .sent || phase == .asked
        case .switched: phase == .sent
        case .credential, .continued, .lost, .reset: phase != .poisoned
        }
    }
}
