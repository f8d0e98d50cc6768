/// One request's body on its way from the caller to the upstream: what becomes of each piece, decided without touching it.
///
///     idle ──begin──▶ held ──start──▶ sending ──the caller's end──▶ ended
///      ▲               ▲                 │ │                          │
///      │               └─────rewind──────┴─┼──────────────────────────┘   another attempt, from what is kept
///      └──reset── any state                └──stop──▶ stopped             the rest is read and discarded
///
/// `held` waits for a credential, a connection, or the upstream's word that it wants the body. The caller's end is
/// ``isWhole``, and comes in any state. A tunnel is `sending` until the caller has ended its side.
package struct RequestStream: ~Copyable {
    package enum Phase: Equatable, Sendable { case idle, held, sending, ended, stopped }

    package private(set) var phase = Phase.idle
    /// The caller has sent all of it, or there is nothing to send.
    package private(set) var isWhole = true
    /// The upstream can't read chunks, so that the body must be whole before it is sent.
    package private(set) var awaitsWhole = false

    package init() {}

    /// A request has come.
    ///
    /// - Parameters:
    ///   - hasBody: a body follows.
    ///   - awaitsWhole: it must be whole before it is sent.
    package mutating func begin(hasBody: Bool, awaitsWhole: Bool = false) {
        assert(self.phase == .idle, "the last request is not over")
        self.phase = .held
        self.isWhole = !hasBody
        self.awaitsWhole = awaitsWhole && hasBody
    }

    package enum Received: Equatable, Sendable {
        /// It goes on, and is kept as long as there is room.
        case send
        /// It is kept, and goes with the next attempt.
        case hold
        case discard
    }

    /// A piece of the body has come.
    package func received() -> Received {
        switch self.phase {
        case .sending: .send
        case .held: .hold
        case .stopped, .idle, .ended: .discard
        }
    }

    package enum Finished: Equatable, Sendable {
        /// The upstream gets the end of the body.
        case sendEnd
        /// It was waited for to be whole: now a credential and a connection are.
        case proceed
        case nothing
    }

    /// The caller has sent all of it.
    package mutating func finished() -> Finished {
        self.isWhole = true
        switch self.phase {
        case .sending:
            self.phase = .ended
            return .sendEnd
        case .held where self.awaitsWhole:
            self.awaitsWhole = false
            return .proceed
        case .held, .idle, .ended, .stopped:
            return .nothing
        }
    }

    /// The head is out, and the upstream takes the body: what was kept goes, and its end where ``isWhole``.
    package mutating func start() {
        assert(self.phase == .held, "only what is held can be started")
        self.phase = self.isWhole ? .ended : .sending
    }

    /// The request is sent again from its start.
    package mutating func rewind() {
        if self.phase == .sending || self.phase == .ended { self.phase = .held }
    }

    /// The upstream takes no more of it.
    package mutating func stop() {
        if self.phase == .held || self.phase == .sending { self.phase = .stopped }
    }

    /// What the caller sends is no request, or not the rest of one: nothing of it goes upstream, and no next one can follow.
    package mutating func fail() {
        self.phase = .stopped
        self.isWhole = false
    }

    /// The request is over.
    package mutating func reset() {
        self.phase = .idle
        self.isWhole = true
        self.awaitsWhole = false
    }

    /// Nothing more goes upstream.
    package var isOver: Bool {
        switch self.phase {
        case .ended, .stopped, .idle: true
        case .held, .sending: false
        }
    }

    /// Whether more of it should be read from the caller.
    ///
    /// - Parameters:
    ///   - isWritable: the upstream takes more.
    ///   - hasRoom: more can be kept.
    package func wantsMore(isWritable: Bool, hasRoom: Bool) -> Bool {
        switch self.phase {
        case .held: hasRoom
        case .sending: isWritable
        // So that a caller that reads nothing before it has sent everything comes to read.
        case .stopped: !self.isWhole
        case .idle, .ended: false
        }
    }
}
