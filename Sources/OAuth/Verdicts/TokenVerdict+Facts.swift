/// What may be shown of a verdict: in logs, metrics and to operators.
extension TokenVerdict {
    /// One word for the case; a label of metrics.
    package var name: String {
        switch self {
        case .success: "success"
        case .rotated: "rotated"
        case .dead: "dead"
        case .config: "config"
        case .accountConfig: "account_config"
        case .throttled: "throttled"
        case .notSent: "not_sent"
        case .ambiguous: "ambiguous"
        case .conflict: "conflict"
        case .refused: "refused"
        case .notProvider: "not_provider"
        }
    }

    /// Why; `nil` for a success and where the case says it all.
    package var reason: VerdictReason? {
        switch self {
        case .success, .throttled: nil
        case .rotated(_, let reason), .dead(let reason), .config(let reason), .accountConfig(let reason),
            .notSent(let reason), .ambiguous(let reason), .conflict(let reason), .refused(let reason),
            .notProvider(let reason):
            reason
        }
    }
}
