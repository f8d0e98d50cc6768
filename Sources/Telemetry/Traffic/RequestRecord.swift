package import TokenModel

/// One request as it is counted and logged: facts of the gateway's own, and nothing that the caller wrote.
package struct RequestRecord: Sendable {
    /// When its head was whole.
    package let startedAt: BootInstant
    /// When its exchange was over.
    package internal(set) var endedAt: BootInstant
    /// One of the methods the gateway knows, or a word for all others.
    package let method: StaticString
    /// The route's place in the configuration, counted from 1; 0 where no route matched.
    package var route = 0
    package var account: AccountID?
    /// As the configuration names who sent it; `nil` where nobody had proven to be one of those.
    package var caller: String?
    /// Of the answer that the caller got; 0 where it got none.
    package var status = 0
    /// The code of an answer of the gateway's own, or of what cut an upstream's short; `nil` for an upstream's that is whole.
    package var error: String?
    /// Why, for the operator: what the caller is not told.
    package var reason: String?
    /// Scheme, host and port of the upstream, where the error is its doing.
    package var origin: String?
    /// Of the request's body, as far as it was read, or from the caller in a tunnel.
    package var bytesIn = 0
    /// Of the answer's body: the upstream's as far as it was passed on, or the gateway's own; or to the caller in a tunnel.
    package var bytesOut = 0
    package var replay = Replay.none
    /// The caller was sent all of the answer; or both sides of a tunnel had ended theirs.
    package var isWhole = false

    package init(method: StaticString, startedAt: BootInstant) {
        self.method = method
        self.startedAt = startedAt
        self.endedAt = startedAt
    }

    /// From the whole head to the end.
    package var duration: Duration { self.startedAt.duration(to: self.endedAt) }
}

extension RequestRecord {
    /// How far a request got with a dead token.
    package enum Replay: Sendable {
        /// No upstream called its token dead.
        case none
        /// The answer is held back while the account is refreshed.
        case held
        /// The request was sent again with a newer token.
        case sent
        /// And an upstream took that.
        case answered
        /// And an upstream called that dead too.
        case refused
        /// The request's body was gone: the answer went on to the caller.
        case impossible
    }

    /// Whether it was sent again after a dead token.
    package var isReplayed: Bool { self.replay.hasBeenSent }
}

extension RequestRecord.Replay {
    /// Whether the request was sent again.
    package var hasBeenSent: Bool {
        switch self {
        case .sent, .answered, .refused: true
        case .none, .held, .impossible: false
        }
    }
}

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
