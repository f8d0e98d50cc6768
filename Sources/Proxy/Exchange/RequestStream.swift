/// The body of one request on its way from the caller to the upstream. It decides what happens to each piece, and
/// touches none.
///
///     idle ──begin──▶ held ──start──▶ sending ──the caller's end──▶ ended
///      ▲               ▲                 │ │                          │
///      │               └─────rewind──────┴─┼──────────────────────────┘   another attempt, from what is kept
///      └──reset── any state       held or └──stop──▶ stopped             the rest is read and discarded
///
/// `held` waits for a credential, a connection, or the upstream's `100 Continue`. ``isWhole`` is the caller's end,
/// which can come in any state. A tunnel is `sending` until the caller has ended its side.
///
/// These stop an upload before its end, once the request is on its way to an upstream:
/// - The response: an error (≥ 400) before the body was asked for or behind which the upstream closes, and a response
///   that was inspected, whose connection is released (``passedResponse(isError:hasConnection:keepsAlive:)``).
/// - The upstream: it closes or resets the connection, sends a response that is not HTTP, or ends the response on a
///   connection that can't be used again (`Exchange+Response`).
/// - The caller: it leaves, or its bytes are no request any more (``fail()``).
/// - Time: the caller sends too slowly, or the upstream is idle for too long (`Exchange.sweep` in `Exchange+Ending`).
/// - A kill, or the end of the lease before the head was sent (`Exchange+Fencing`).
/// - The end of the process, after `shutdown_grace` (`HTTP1Downstream.closeNow`).
///
/// Another attempt sends the body from its start (``rewind()``). Backpressure only pauses it.
package struct RequestStream: ~Copyable {
    package enum Phase: Equatable, Sendable { case idle, held, sending, ended, stopped }

    package private(set) var phase = Phase.idle
    /// The caller has sent all of the request, or there is nothing to send.
    package private(set) var isWhole = true
    /// The body must be whole before it is sent, because the upstream can't read chunks.
    package private(set) var awaitsWhole = false

    package init() {}

    /// A request has come.
    ///
    /// - Parameters:
    ///   - hasBody: a body follows.
    ///   - awaitsWhole: the body must be whole before it is sent.
    package mutating func begin(hasBody: Bool, awaitsWhole: Bool = false) {
        assert(self.phase == .idle, "the last request is not over")
        self.phase = .held
        self.isWhole = !hasBody
        self.awaitsWhole = awaitsWhole && hasBody
    }

    package enum Received: Equatable, Sendable {
        /// Send the piece, and keep it as long as there is room.
        case send
        /// Keep the piece, and send it with the next attempt.
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
        /// Send the end of the body to the upstream.
        case sendEnd
        /// The body had to be whole first: now get a credential and a connection.
        case proceed
        case nothing
    }

    /// The caller has sent all of the request.
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

    /// The head was sent, and the upstream takes the body: send what was kept, and the end where ``isWhole``.
    package mutating func start() {
        assert(self.phase == .held, "only what is held can be started")
        self.phase = self.isWhole ? .ended : .sending
    }

    /// The request is sent again from its start.
    package mutating func rewind() {
        if self.phase == .sending || self.phase == .ended { self.phase = .held }
    }

    package enum Continued: Equatable, Sendable {
        /// Send what was kept: the upstream has not asked for the body, and takes it all the same.
        case start
        case nothing
    }

    /// A final response is passed to the caller. The upload continues behind it, unless the upstream takes no more.
    ///
    /// - Parameters:
    ///   - isError: the status is 400 or higher.
    ///   - hasConnection: the exchange still has the upstream's connection.
    ///   - keepsAlive: the upstream keeps the connection open.
    package mutating func passedResponse(isError: Bool, hasConnection: Bool, keepsAlive: Bool) -> Continued {
        let isHeld = self.phase == .held
        guard hasConnection, !isError || !isHeld && keepsAlive else {
            self.stop()
            return .nothing
        }
        return isHeld ? .start : .nothing
    }

    /// The upstream takes no more of the request.
    package mutating func stop() {
        if self.phase == .held || self.phase == .sending { self.phase = .stopped }
    }

    /// The caller's bytes are no request, or not the rest of one. None of them goes upstream, and no request can
    /// follow.
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

    /// Whether more of the request should be read from the caller.
    ///
    /// - Parameters:
    ///   - isWritable: the upstream takes more.
    ///   - hasRoom: more can be kept.
    package func wantsMore(isWritable: Bool, hasRoom: Bool) -> Bool {
        switch self.phase {
        case .held: hasRoom
        case .sending: isWritable
        // A caller that reads nothing before it has sent everything must come to read.
        case .stopped: !self.isWhole
        case .idle, .ended: false
        }
    }
}
