/// The attempts to have one request answered: which comes next, decided without touching a connection.
///
///     idle ──begin──▶ waiting ◀──lapsed── connecting ──sent──▶ sent ──judged──▶ settled
///                        │                  ▲ │ ▲ ▲             │ │ │
///                        └──credential──────┘ │ │ └─connection──┘ │ │
///                        ▲                    │ │   stale, once   │ │
///                        │                    │ └─417, once───────┤ │
///                        │                    └─asking─▶ asked ───┘ │
///                        └─────────token rejected, once─────────────┘
///
/// In `asked` the head is out with `Expect: 100-continue`, and the body waits for the upstream's word; otherwise it is as
/// `sent`. From every state but `idle` a local reply, or the caller's leaving, leads back to it.
package struct Attempt: ~Copyable {
    package enum Phase: Equatable, Sendable {
        case idle
        /// For a credential.
        case waiting
        case connecting, asked, sent
        /// The response goes to the caller, and nothing is sent again.
        case settled
        case poisoned
    }

    /// How often a request may find its credential ended when its connection is ready.
    private static let lapseLimit = 3

    package private(set) var phase = Phase.idle
    /// It waits for another token than the one that was rejected.
    private var holdsRejection = false
    /// The connection had served another request before.
    private var isReused = false
    /// It is sent again after a rejected token. Once is all.
    package private(set) var isReplay = false
    /// It is sent again after a stale connection. Once is all.
    private var isRetry = false
    /// It is sent again without an expectation, which an upstream has refused. Once is all.
    private var hasDroppedExpectation = false
    private var lapses = 0

    package init() {}

    package enum Begin: Equatable, Sendable { case connect, wait }

    /// The request may go.
    package mutating func begin(hasCredential: Bool) -> Begin {
        assert(self.phase == .idle, "the last request is not over")
        self.phase = hasCredential ? .connecting : .waiting
        return hasCredential ? .connect : .wait
    }

    package enum Credential: Equatable, Sendable {
        case connect
        /// Discard the response that is held, and send the request again.
        case replay
        /// The response that is held goes to the caller after all.
        case passHeld
        case ignore
    }

    /// A credential was asked for, and is there.
    ///
    /// - Parameter isNewer: than the one that was rejected; meaningless where none was.
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

    /// It waits for a credential or a connection: a failure of either is told to the caller.
    package var isPending: Bool { self.phase == .waiting || self.phase == .connecting }

    package enum Lapsed: Equatable, Sendable { case wait, fail }

    /// A connection is there, and the credential is not any more.
    package mutating func lapsed() -> Lapsed {
        guard self.phase == .connecting else { return self.poison(.fail) }
        self.lapses += 1
        guard self.lapses <= Self.lapseLimit else { return .fail }
        self.phase = .waiting
        return .wait
    }

    /// The authorized head was handed to a connection.
    ///
    /// - Parameter asks: it says `Expect: 100-continue`, and the body waits.
    package mutating func sent(onReused isReused: Bool, asks: Bool = false) {
        guard self.phase == .connecting else { return self.poison(()) }
        self.isReused = isReused
        self.phase = asks ? .asked : .sent
    }

    /// The upstream wants the body, or has had its time to say so.
    ///
    /// - Returns: whether it was asked.
    package mutating func continued() -> Bool {
        guard self.phase == .asked else { return false }
        self.phase = .sent
        return true
    }

    /// What is known of a response.
    package struct Response: Equatable, Sendable {
        package var rejectsToken: Bool
        /// All of the request's body that was taken is still there to be sent again, and nothing of a response has gone
        /// to the caller.
        package var isRepeatable: Bool
        /// It is a 417, and all of the request's body that was taken is still there.
        package var refusesExpectation: Bool

        package init(rejectsToken: Bool, isRepeatable: Bool, refusesExpectation: Bool = false) {
            self.rejectsToken = rejectsToken
            self.isRepeatable = isRepeatable
            self.refusesExpectation = refusesExpectation
        }
    }

    package enum Judgement: Equatable, Sendable {
        case pass
        /// It is the response to a replay, and rejects that token too.
        case passMarkedReplayed
        /// Hold it, and have the account refreshed.
        case hold
        /// It goes on, since the request can't be sent again; the next one shall find a fresh token.
        case passAndRefresh
        /// Discard it, and send the request again as it is, but without the expectation.
        case sendAgain
        case fail
    }

    /// A response has come, and all that is needed to judge it.
    package mutating func judge(_ response: Response) -> Judgement {
        switch self.phase {
        case .asked where response.refusesExpectation && !self.hasDroppedExpectation:
            // The expectation was the gateway's own: what becomes of it is nothing to the caller, even where that has
            // seen an interim response, which promises nothing.
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

    /// HTTP is over on this connection (101).
    package mutating func switched() {
        guard self.phase == .sent else { return self.poison(()) }
        self.phase = .settled
    }

    /// The connection is gone before any byte of a response.
    ///
    /// - Parameter mayRepeat: the body is kept, and the method is idempotent or nothing of the request was flushed.
    /// - Returns: whether the request goes once more, on a new connection.
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
