package import HTTPWire
package import NIOCore

/// One request's body on its way from the caller to the upstream: what becomes of each piece, decided without touching a
/// connection.
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
    /// What was taken from the caller, as far as it can be sent again.
    package private(set) var kept = KeptBody(limit: 0)
    /// What the caller has sent behind the body.
    package private(set) var trailers: Trailers?

    package init() {}

    /// A request has come.
    ///
    /// - Parameters:
    ///   - hasBody: a body follows.
    ///   - kept: what it will be kept in.
    ///   - awaitsWhole: it must be whole before it is sent.
    package mutating func begin(hasBody: Bool, keeping kept: consuming KeptBody, awaitsWhole: Bool) {
        assert(self.phase == .idle, "the last request is not over")
        self.phase = .held
        self.isWhole = !hasBody
        self.kept = kept
        self.awaitsWhole = awaitsWhole && hasBody
        self.trailers = nil
    }

    package enum Received: Equatable, Sendable {
        case send
        /// It is kept, and goes with the next attempt.
        case hold
        case discard
        /// What must be whole is longer than what may be kept of one body.
        case tooLong
        /// What must be whole has no room beside what is kept of other bodies.
        case noMemory
    }

    /// A piece of the body has come.
    package mutating func received(_ bytes: ByteBuffer) -> Received {
        switch self.phase {
        case .sending:
            self.kept.keep(bytes, isSent: true)
            return .send
        case .held:
            self.kept.keep(bytes, isSent: false)
            guard self.awaitsWhole else { return .hold }
            if self.kept.isOver { return .tooLong }
            return self.kept.isMemoryOver ? .noMemory : .hold
        case .stopped, .idle, .ended:
            return .discard
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
    package mutating func finished(_ trailers: Trailers?) -> Finished {
        self.isWhole = true
        self.trailers = trailers
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

    /// The head is out, and the upstream takes the body: what is ``kept`` goes, and its end where ``isWhole``.
    package mutating func start() {
        assert(self.phase == .held, "only what is held can be started")
        self.phase = self.isWhole ? .ended : .sending
    }

    /// More than the limit is not kept on once it has been sent.
    package mutating func trim() { self.kept.trim() }

    /// The request is sent again from its start.
    package mutating func rewind() {
        if self.phase == .sending || self.phase == .ended { self.phase = .held }
    }

    /// Nothing is sent again, so nothing is kept.
    package mutating func settle() { self.kept = KeptBody(limit: 0) }

    /// The upstream takes no more of it.
    package mutating func stop() {
        if self.phase == .held || self.phase == .sending { self.phase = .stopped }
        self.settle()
    }

    /// What the caller sends is no request, or not the rest of one: nothing of it goes upstream, and no next one can follow.
    package mutating func fail() {
        self.phase = .stopped
        self.isWhole = false
        self.settle()
    }

    /// All that was taken of it is still there to be sent again.
    package var isRepeatable: Bool { self.phase != .stopped && !self.kept.isDropped }

    /// The request is over.
    package mutating func reset() {
        self.phase = .idle
        self.isWhole = true
        self.awaitsWhole = false
        self.settle()
        self.trailers = nil
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
    /// - Parameter isWritable: the upstream takes more.
    package func wantsMore(isWritable: Bool) -> Bool {
        switch self.phase {
        // Its end must be seen, so there is always room for one piece more.
        case .held: self.awaitsWhole ? !self.kept.isOver : self.kept.hasRoom
        case .sending: isWritable
        // So that a caller that reads nothing before it has sent everything comes to read.
        case .stopped: !self.isWhole
        case .idle, .ended: false
        }
    }
}
