/// The attempts to get a response to one request. It decides which step comes next and touches no connection.
///
///     idle ──begin──▶ waiting ◀──lapsed── connecting ──sent──▶ sent ──judged──▶ settled
///                        │                  ▲ │ ▲ ▲             │ │ │
///                        └──credential──────┘ │ │ └─connection──┘ │ │
///                        ▲                    │ │   stale, once   │ │
///                        │                    │ └─417, once───────┤ │
///                        │                    └─asking─▶ asked ───┘ │
///                        └─────────token rejected, once─────────────┘
///
/// In `asked` the head was sent with `Expect: 100-continue`, and the body waits for the upstream's `100 Continue`;
/// otherwise the state behaves like `sent`. A local reply or the caller's disconnect leads from any state back to
/// `idle`.
package struct Attempt: ~Copyable {
    package enum Phase: Equatable, Sendable {
        case idle
        /// Waiting for a credential.
        case waiting
        case connecting, asked, sent
        /// The response goes to the caller, and the request is not sent again.
        case settled
        case poisoned
    }

    /// How many times a request may find its credential unusable when its connection is ready.
    private static let lapseLimit = 3

    package private(set) var phase = Phase.idle
    /// A response is held, and the request waits for another token than the rejected one.
    private var holdsRejection = false
    /// The connection had served another request before.
    private var isReused = false
    /// The request was sent again after a rejected token, which happens at most once.
    package private(set) var isReplay = false
    /// The request was sent again after a stale connection, which happens at most once.
    private var isRetry = false
    /// The request was sent again without the expectation that an upstream has refused, which happens at most once.
    private var hasDroppedExpectation = false
    private var lapses = 0

    package init() {}

    package enum Begin: Equatable, Sendable { case connect, wait }

    /// Starts the first attempt.
    package mutating func begin(hasCredential: Bool) -> Begin {
        assert(self.phase == .idle, "the last request is not over")
        self.phase = hasCredential ? .connecting : .waiting
        return hasCredential ? .connect : .wait
    }

    package enum Credential: Equatable, Sendable {
        case connect
        /// Discard the held response, and send the request again.
        case replay
        /// Pass the held response to the caller.
        case passHeld
        case ignore
    }

    /// The requested credential has arrived.
    ///
    /// - Parameter isNewer: it differs from the rejected one; meaningless where none was rejected.
    package mutating func credentialArrived(isNewer: Bool) -> Credential {
        guard self.phase == .waiting else { return .ignore }
        guard self.holdsRejection else {
            self.phase = .connecting
            return .connect
        }
        self.holdsRejection = false
        guard isNewer else {
            self.phase = .settled
            return .passHeld
        }
        self.isReplay = true
        self.phase = .connecting
        return .replay
    }

    /// The request waits for a credential or a connection. A failure of either is reported to the caller.
    package var isPending: Bool { self.phase == .waiting || self.phase == .connecting }

    package enum Lapsed: Equatable, Sendable { case wait, fail }

    /// A connection is ready, but the credential is no longer usable.
    package mutating func lapsed() -> Lapsed {
        guard self.phase == .connecting else { return self.poison(.fail) }
        self.lapses += 1
        guard self.lapses <= Self.lapseLimit else { return .fail }
        self.phase = .waiting
        return .wait
    }

    /// The authorized head was handed to a connection.
    ///
    /// - Parameter asks: the head says `Expect: 100-continue`, and the body waits.
    package mutating func sent(onReused isReused: Bool, asks: Bool = false) {
        guard self.phase == .connecting else { return self.poison(()) }
        self.isReused = isReused
        self.phase = asks ? .asked : .sent
    }

    /// The upstream wants the body, or its time to say so is over.
    ///
    /// - Returns: whether the upstream was asked.
    package mutating func continued() -> Bool {
        guard self.phase == .asked else { return false }
        self.phase = .sent
        return true
    }

    /// What is known of a response.
    package struct Response: Equatable, Sendable {
        package var rejectsToken: Bool
        /// The part of the request body read so far is kept for a replay, and nothing of a response has gone to the
        /// caller.
        package var isRepeatable: Bool
        /// The response is a 417, and the part of the request body read so far is kept for a replay.
        package var refusesExpectation: Bool

        package init(rejectsToken: Bool, isRepeatable: Bool, refusesExpectation: Bool = false) {
            self.rejectsToken = rejectsToken
            self.isRepeatable = isRepeatable
            self.refusesExpectation = refusesExpectation
        }
    }

    package enum Judgement: Equatable, Sendable {
        case pass
        /// Pass the response to a replay, which rejects the new token too.
        case passMarkedReplayed
        /// Hold the response, and have the account refreshed.
        case hold
        /// Pass the response, since the request can't be sent again; refresh the token for the next request.
        case passAndRefresh
        /// Discard the response, and send the same request again without the expectation.
        case sendAgain
        case fail
    }

    /// Judges a response, once everything needed for that has come.
    package mutating func judge(_ response: Response) -> Judgement {
        switch self.phase {
        case .asked where response.refusesExpectation && !self.hasDroppedExpectation:
            // The gateway itself added the expectation, so its refusal does not concern the caller. That holds even if
            // the caller has seen an interim response, which promises nothing.
            self.hasDroppedExpectation = true
            self.phase = .connecting
            return .sendAgain
        case .asked, .sent:
            if response.rejectsToken, !self.isReplay, response.isRepeatable {
                self.holdsRejection = true
                self.phase = .waiting
                return .hold
            }
            self.phase = .settled
            guard response.rejectsToken else { return .pass }
            return self.isReplay ? .passMarkedReplayed : .passAndRefresh
        case .idle, .waiting, .connecting, .settled, .poisoned:
            return self.poison(.fail)
        }
    }

    /// The upstream switched protocols (101): HTTP is over on this connection.
    package mutating func switched() {
        guard self.phase == .sent else { return self.poison(()) }
        self.phase = .settled
    }

    /// The connection was lost before a response.
    ///
    /// - Parameter mayRepeat: the body is kept, and the method is idempotent or nothing of the request was flushed.
    /// - Returns: whether the request is sent once more, on a new connection.
    package mutating func lost(mayRepeat: Bool) -> Bool {
        guard self.phase == .sent || self.phase == .asked, self.isReused, mayRepeat, !self.isRetry else { return false }
        self.isRetry = true
        self.phase = .connecting
        return true
    }

    /// The exchange is over.
    package mutating func reset() { self = Attempt() }

    private mutating func poison<Action>(_ action: Action) -> Action {
        assertionFailure("an event that this state does not know")
        self.phase = .poisoned
        return action
    }
}
