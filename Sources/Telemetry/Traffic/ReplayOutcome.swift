/// What became of a request whose token an upstream called dead: the label of a metric.
package enum ReplayOutcome: Int, CaseIterable, Sendable {
    /// Sent again with a newer token, and an upstream took it.
    case answered
    /// Sent again, and called dead again.
    case refused
    /// Sent again, and no answer came.
    case failed
    /// No newer token was to be had.
    case notRefreshed
    /// The request's body was gone: it could not be sent again.
    case impossible

    /// - Parameter replay: of a request that is over.
    /// - Returns: `nil` where no token was called dead.
    package init?(_ replay: RequestRecord.Replay) {
        switch replay {
        case .none: return nil
        case .held: self = .notRefreshed
        case .sent: self = .failed
        case .answered: self = .answered
        case .refused: self = .refused
        case .impossible: self = .impossible
        }
    }

    /// As Prometheus is told.
    package var label: String {
        switch self {
        case .answered: "answered"
        case .refused: "refused"
        case .failed: "failed"
        case .notRefreshed: "not_refreshed"
        case .impossible: "impossible"
        }
    }
}
