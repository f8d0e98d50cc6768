/// One request and its answer: what happens next, decided without touching a connection.
///
///     idle ──begin──▶ connecting ──connected, pass good──▶ sending ──answer's head──▶ answering ──end──▶ idle
///       │               ▲   │ ▲                             │ │ │
///       └─begin─▶ parked┘   │ └──stale connection, once─────┘ │ └─101 asked for─▶ tunnelling ──both sides' ends──▶ idle
///                   ▲       │                                 └─dead token, repeatable─▶ judging
///                   └─pass lapsed                                                         │  │
///                                                      connecting ◀──newer pass (replay)──┘  └─no newer pass─▶ answering
///
/// Where the upstream needs the body's length, `collecting` comes before `connecting` and `parked`, until the body is whole.
/// A large body waits in `expecting`, its head out, until the upstream says that it wants it: an answer there is judged as
/// one in `sending`, and costs no upload. An answer whose body must be looked at is `examined` before it is judged.
/// From every state but `idle` an own answer or the caller's leaving goes to `idle`. Each event returns what must be
/// done about it, once; what is not possible in a state poisons the machine, and the shell closes both sides.
package struct ExchangeMachine: ~Copyable {
    private enum State {
        case idle
        /// The body must be here whole before anything can be sent.
        case collecting
        case parked(Attempts)
        case connecting(Attempts)
        /// The head is out with `Expect: 100-continue`; the body waits for the word to go on.
        case expecting(Attempts, isReused: Bool)
        case sending(Attempts, isReused: Bool)
        /// An answer is read whole, because its body may say that the token is dead.
        case examining(Attempts)
        /// A dead token's answer is held back while the account is refreshed.
        case judging(Attempts, isHeldAnswerLost: Bool)
        case answering
        /// HTTP is over: bytes go both ways until both sides have ended theirs.
        case tunnelling(ended: Side?)
        case poisoned
    }

    /// Where the exchange stands, for those who feed it and for the sweep.
    package enum Phase: Sendable {
        case idle, collecting, parked, connecting, expecting, sending, examining, judging, answering, tunnelling,
            poisoned
    }

    private var state = State.idle

    package init() {}

    package var phase: Phase {
        switch self.state {
        case .idle: .idle
        case .collecting: .collecting
        case .parked: .parked
        case .connecting: .connecting
        case .expecting: .expecting
        case .sending: .sending
        case .examining: .examining
        case .judging: .judging
        case .answering: .answering
        case .tunnelling: .tunnelling
        case .poisoned: .poisoned
        }
    }
}

// MARK: - Before an answer

extension ExchangeMachine {
    package enum Begin: Equatable, Sendable { case connect, park, collect, fail }

    /// A request has come, and its route is settled.
    ///
    /// - Parameter collectsBody: its body must be whole before it is sent.
    package mutating func begin(hasPass: Bool, collectsBody: Bool = false) -> Begin {
        guard case .idle = self.state else { return self.poison(.fail) }
        guard !collectsBody else {
            self.state = .collecting
            return .collect
        }
        return self.start(hasPass)
    }

    /// The body that had to be whole is.
    package mutating func collected(hasPass: Bool) -> Begin {
        guard case .collecting = self.state else { return self.poison(.fail) }
        return self.start(hasPass)
    }

    private mutating func start(_ hasPass: Bool) -> Begin {
        self.state = hasPass ? .connecting(Attempts()) : .parked(Attempts())
        return hasPass ? .connect : .park
    }

    package enum PassArrived: Equatable, Sendable { case connect, replay, passHeldAnswer, answerReset, ignore }

    /// A pass was asked for, and is there.
    ///
    /// - Parameter isNewer: than the one that was refused; meaningless where none was.
    package mutating func passArrived(isNewer: Bool) -> PassArrived {
        switch self.state {
        case .parked(let attempts):
            self.state = .connecting(attempts)
            return .connect
        case .judging(var attempts, let isLost):
            guard isNewer else {
                self.state = isLost ? .idle : .answering
                return isLost ? .answerReset : .passHeldAnswer
            }
            attempts.isReplay = true
            self.state = .connecting(attempts)
            return .replay
        case .idle, .collecting, .connecting, .expecting, .sending, .examining, .answering, .tunnelling, .poisoned:
            return .ignore
        }
    }

    package enum Failed: Equatable, Sendable { case answer, ignore }

    /// No pass is to be had, or no connection, or the body is too long to be collected.
    package mutating func failed() -> Failed {
        switch self.state {
        case .collecting, .parked, .judging, .connecting:
            self.state = .idle
            return .answer
        case .idle, .expecting, .sending, .examining, .answering, .tunnelling, .poisoned:
            return .ignore
        }
    }

    package enum Lapsed: Equatable, Sendable { case park, answer, fail }

    /// A connection is there, and the pass is not any more.
    package mutating func lapsed() -> Lapsed {
        guard case .connecting(var attempts) = self.state else { return self.poison(.fail) }
        attempts.lapses += 1
        guard attempts.lapses <= Attempts.lapseLimit else {
            self.state = .idle
            return .answer
        }
        self.state = .parked(attempts)
        return .park
    }

    /// The authorized head was handed to a connection.
    ///
    /// - Parameter expects: it says `Expect: 100-continue`, and the body waits.
    package mutating func sent(onReused isReused: Bool, expects: Bool = false) {
        guard case .connecting(let attempts) = self.state else {
            return self.poison(())
        }
        self.state = expects ? .expecting(attempts, isReused: isReused) : .sending(attempts, isReused: isReused)
    }

    package enum Continued: Equatable, Sendable { case sendBody, ignore }

    /// The upstream wants the body, or has had its time to say so.
    package mutating func continued() -> Continued {
        guard case .expecting(let attempts, let isReused) = self.state else { return .ignore }
        self.state = .sending(attempts, isReused: isReused)
        return .sendBody
    }
}

// MARK: - The answer

extension ExchangeMachine {
    /// What is known of an answer whose head has come.
    package struct Answer: Equatable, Sendable {
        /// It says that the token is dead.
        package var isDeadToken: Bool
        /// All of the request's body that was taken is still there to be sent again, and nothing of an answer has gone
        /// to the caller.
        package var isRepeatable: Bool
        /// It is a 417, and all of the request's body that was taken is still there.
        package var refusesExpectation: Bool

        package init(isDeadToken: Bool, isRepeatable: Bool, refusesExpectation: Bool = false) {
            self.isDeadToken = isDeadToken
            self.isRepeatable = isRepeatable
            self.refusesExpectation = refusesExpectation
        }
    }

    package enum Answered: Equatable, Sendable {
        case pass
        /// It is the answer to a replay, and says again that the token is dead.
        case passMarkedReplayed
        /// Hold it back and have the account refreshed.
        case hold
        /// It goes on, since the request can't be sent again; the next one shall find a fresh token.
        case passAndRefresh
        /// Throw it away, and send the request again as it is, but without the expectation.
        case sendAgain
        case fail
    }

    package enum Examined: Equatable, Sendable { case read, fail }

    /// An answer's head has come that can't be judged before its body.
    package mutating func examined() -> Examined {
        switch self.state {
        case .expecting(let attempts, _), .sending(let attempts, _):
            self.state = .examining(attempts)
            return .read
        case .idle, .collecting, .parked, .connecting, .examining, .judging, .answering, .tunnelling, .poisoned:
            return self.poison(.fail)
        }
    }

    /// An answer's head has come; interim ones (1xx) but 101 are none of the machine's business.
    package mutating func answered(_ answer: Answer) -> Answered {
        switch self.state {
        case .expecting(var attempts, _):
            // The expectation was the gateway's own: what becomes of it is nothing to the caller, even where that has
            // seen an interim answer, which promises nothing.
            guard answer.refusesExpectation, !attempts.hasDroppedExpectation else {
                return self.judged(answer, attempts)
            }
            attempts.hasDroppedExpectation = true
            self.state = .connecting(attempts)
            return .sendAgain
        case .sending(let attempts, _), .examining(let attempts):
            return self.judged(answer, attempts)
        case .idle, .collecting, .parked, .connecting, .judging, .answering, .tunnelling, .poisoned:
            return self.poison(.fail)
        }
    }

    private mutating func judged(_ answer: Answer, _ attempts: Attempts) -> Answered {
        if answer.isDeadToken, !attempts.isReplay, answer.isRepeatable {
            self.state = .judging(attempts, isHeldAnswerLost: false)
            return .hold
        }
        self.state = .answering
        guard answer.isDeadToken else { return .pass }
        return attempts.isReplay ? .passMarkedReplayed : .passAndRefresh
    }

    package enum Lost: Equatable, Sendable {
        /// Once more on a new connection.
        case retry
        case answerReset
        /// Response bytes went out: the caller must see that the answer is not whole.
        case abortCaller
        case ignore
    }

    /// The upstream connection is gone before the answer's end.
    ///
    /// - Parameter mayRepeat: no byte of an answer came, the body is kept, and the method is idempotent or nothing of the
    ///   request was flushed.
    package mutating func upstreamLost(mayRepeat: Bool) -> Lost {
        switch self.state {
        case .expecting(var attempts, let isReused), .sending(var attempts, let isReused):
            guard isReused, mayRepeat, !attempts.isRetry else {
                self.state = .idle
                return .answerReset
            }
            attempts.isRetry = true
            self.state = .connecting(attempts)
            return .retry
        case .examining:
            // Nothing of it has gone to the caller.
            self.state = .idle
            return .answerReset
        case .judging(let attempts, _):
            self.state = .judging(attempts, isHeldAnswerLost: true)
            return .ignore
        case .answering, .tunnelling:
            self.state = .idle
            return .abortCaller
        case .idle, .collecting, .parked, .connecting, .poisoned:
            return .ignore
        }
    }

    package enum Ended: Equatable, Sendable { case finish, fail }

    /// The answer is whole.
    package mutating func answerEnded() -> Ended {
        guard case .answering = self.state else { return self.poison(.fail) }
        self.state = .idle
        return .finish
    }

    /// The upstream's or the caller's bytes are not HTTP, or one of them took too long.
    ///
    /// - Returns: whether the caller can still be told; else its connection must be aborted.
    package mutating func upstreamFailed() -> Bool {
        switch self.state {
        case .collecting, .parked, .connecting, .expecting, .sending, .examining, .judging:
            self.state = .idle
            return true
        case .idle, .answering, .tunnelling, .poisoned:
            self.state = .idle
            return false
        }
    }

    /// The caller's connection is gone, or must go.
    package mutating func abandoned() { self.state = .idle }

    private mutating func poison<Action>(_ action: Action) -> Action {
        assertionFailure("an event that this state does not know")
        self.state = .poisoned
        return action
    }
}

// MARK: - The kill switch

extension ExchangeMachine {
    /// A kill has come into force, and may be about this exchange.
    package mutating func fenced(_ reach: Reach) -> Fenced {
        switch self.state {
        case .collecting, .parked, .connecting:
            // No token is with any connection: it waits for one, or will find its slot empty.
            guard reach.isKilled else { return .ignore }
            self.state = .idle
            return .answer
        case .judging(let attempts, _):
            // It waits for another token, and in vain if there may be none.
            guard !reach.isKilled else {
                self.state = .idle
                return .answer
            }
            guard reach.carriesDead else { return .ignore }
            guard !reach.mayEnd else { return .drain }
            self.state = .judging(attempts, isHeldAnswerLost: true)
            return .loseHeldAnswer
        case .expecting, .sending, .examining:
            guard reach.carriesDead else { return .ignore }
            guard !reach.mayEnd else { return .drain }
            self.state = .idle
            return .answer
        case .answering, .tunnelling:
            guard reach.carriesDead else { return .ignore }
            guard !reach.mayEnd else { return .drain }
            self.state = .idle
            return .abort
        case .poisoned:
            self.state = .idle
            return .abort
        case .idle:
            return .ignore
        }
    }
}

// MARK: - A tunnel

extension ExchangeMachine {
    /// One end of a tunnel.
    package enum Side: Equatable, Sendable { case caller, upstream }

    package enum Switched: Equatable, Sendable { case tunnel, fail }

    /// A 101 has come, and was asked for.
    package mutating func switched() -> Switched {
        guard case .sending = self.state else { return self.poison(.fail) }
        self.state = .tunnelling(ended: nil)
        return .tunnel
    }

    package enum TunnelEnded: Equatable, Sendable {
        /// The other side must be told, and may go on sending.
        case passOn
        /// The other side had ended before: it is over, behind what is still on its way.
        case finish
        case ignore
    }

    /// One side sends no more.
    package mutating func tunnelEnded(_ side: Side) -> TunnelEnded {
        guard case .tunnelling(let ended) = self.state, ended != side else { return .ignore }
        self.state = ended == nil ? .tunnelling(ended: side) : .idle
        return ended == nil ? .passOn : .finish
    }
}
