package import TokenModel

/// One request as it is counted and logged: facts that the gateway establishes, and nothing that the caller wrote.
package struct RequestRecord: Sendable {
    /// When its head was complete.
    package let startedAt: BootInstant
    /// When its exchange had ended.
    package internal(set) var endedAt: BootInstant
    /// A method that the gateway knows, or one word for all others.
    package let method: StaticString
    /// The route's position in the configuration, counted from 1; 0 if no route matched.
    package var route = 0
    package var account: AccountID?
    /// The caller's name in the configuration; `nil` for a caller that was not authenticated.
    package var caller: String?
    /// The status of the response that the caller got; 0 if it got none.
    package var status = 0
    /// The error code of a local reply, or of what cut an upstream's response short. `nil` for a complete upstream
    /// response.
    package var error: String?
    /// Why, for the operator. The caller is not told.
    package var reason: String?
    /// The upstream's scheme, host and port, if the error is the upstream's.
    package var origin: String?
    /// The bytes of the request body that were read; in a tunnel, the bytes from the caller.
    package var bytesIn = 0
    /// The bytes of the response body: those passed on from the upstream, or those of a local reply. In a tunnel, the
    /// bytes to the caller.
    package var bytesOut = 0
    package var replay = Replay.none
    /// What the route's response cache did; `nil` if there is none, or if it was not asked.
    package var cache: CacheOutcome?
    /// The caller was sent the complete response, or both sides of a tunnel had ended theirs.
    package var isWhole = false

    package init(method: StaticString, startedAt: BootInstant) {
        self.method = method
        self.startedAt = startedAt
        self.endedAt = startedAt
    }

    /// From the complete head to the end.
    package var duration: Duration { self.startedAt.duration(to: self.endedAt) }
}

extension RequestRecord {
    /// How far the replay of a request got after an upstream had rejected its token as dead.
    package enum Replay: Sendable {
        /// No upstream rejected the token as dead.
        case none
        /// The response is held back while the account is refreshed.
        case held
        /// The request was replayed with a newer token.
        case sent
        /// The request was replayed, and an upstream accepted the newer token.
        case answered
        /// The request was replayed, and an upstream rejected the newer token too.
        case refused
        /// The request body was not kept, so the response went to the caller.
        case impossible
    }

    /// Whether the request was replayed.
    package var isReplayed: Bool { self.replay.hasBeenSent }
}

extension RequestRecord.Replay {
    /// Whether the request was replayed.
    package var hasBeenSent: Bool {
        switch self {
        case .sent, .answered, .refused: true
        case .none, .held, .impossible: false
        }
    }
}

/// What a response cache did for a request.
package enum CacheOutcome: Int, CaseIterable, Sendable {
    /// The response came from memory, without a request to the upstream.
    case hit
    /// Nothing stored could answer the request.
    case miss
    /// The upstream was asked whether the stored response is still good.
    case revalidation
}

/// The outcome for a request whose token an upstream rejected as dead: a label of a metric.
package enum ReplayOutcome: Int, CaseIterable, Sendable {
    /// Replayed with a newer token, which an upstream accepted.
    case answered
    /// Replayed, and rejected again.
    case refused
    /// Replayed, and no response came.
    case failed
    /// There was no newer token.
    case notRefreshed
    /// The request body was not kept, so there was no replay.
    case impossible

    /// - Parameter replay: of a request that has ended.
    /// - Returns: `nil` if no token was rejected.
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

    /// The value of the Prometheus label.
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
