/// The response to one request on its way from the upstream to the caller. It tracks how far the response is, and
/// touches no connection.
///
///     none ──pass──▶ passing ──end──▶ ended
///      │ ▲               ▲
///      │ └──discard────┐ │
///      ├──hold──▶ held ┴─┤     a rejected token's response waits while the account is refreshed
///      └──inspect──▶ inspecting ──hold or pass──▶ …     its body may say that the token is rejected
///
/// A tunnel is `passing` until the upstream has ended its side.
package struct ResponseStream: ~Copyable {
    package enum Phase: Equatable, Sendable { case none, inspecting, held, passing, ended }

    /// More interim responses than this count as invalid HTTP.
    private static let interimLimit = 20

    package private(set) var phase = Phase.none
    private var interims = 0
    /// An interim response has gone to the caller, so the request is not sent again after a rejected token.
    package private(set) var hasPassedInterim = false
    /// The held response is lost with its connection.
    package private(set) var isHeldLost = false

    package init() {}

    /// An interim head (1xx) has come.
    ///
    /// - Returns: whether the number of interim responses is within the limit.
    package mutating func countInterim() -> Bool {
        self.interims += 1
        return self.interims <= Self.interimLimit
    }

    package mutating func passedInterim() { self.hasPassedInterim = true }

    /// The head has come, and the body must be read to judge the response.
    package mutating func inspect() {
        assert(self.phase == .none, "there is a response already")
        self.phase = .inspecting
    }

    /// The response waits for another token.
    package mutating func hold() {
        assert(self.phase == .none || self.phase == .inspecting, "only a new response can be held")
        self.phase = .held
        self.isHeldLost = false
    }

    /// The response goes to the caller.
    ///
    /// - Returns: whether that is possible.
    package mutating func pass() -> Bool {
        guard !self.hasBegun, !self.isHeldLost else {
            assertionFailure("there is nothing to pass")
            return false
        }
        self.phase = .passing
        return true
    }

    /// Drops the response, because the request is sent again.
    package mutating func discard() {
        assert(self.phase != .passing && self.phase != .ended, "what has gone can't be discarded")
        self.phase = .none
        self.isHeldLost = false
    }

    /// The held response is lost, while another token may still come.
    package mutating func loseHeld() {
        if self.phase == .held { self.isHeldLost = true }
    }

    package enum Lost: Equatable, Sendable {
        /// No response has come: the request is sent again, or the caller gets a local reply.
        case unanswered
        /// The body was being inspected, and can't be read again.
        case failed
        /// The held response is lost, which matters only when it is asked for.
        case nothing
        /// The caller must see that the response is incomplete.
        case cut
        /// The response is complete; only the rest of the request can't be sent.
        case stopRequest
    }

    /// The upstream connection was lost before the exchange's end.
    package mutating func lost() -> Lost {
        switch self.phase {
        case .none: return .unanswered
        case .inspecting: return .failed
        case .held:
            self.isHeldLost = true
            return .nothing
        case .passing: return .cut
        case .ended: return .stopRequest
        }
    }

    /// The upstream has sent all of the response.
    ///
    /// - Returns: whether that was possible.
    package mutating func end() -> Bool {
        guard self.phase == .passing else {
            assertionFailure("no response is passing")
            return false
        }
        self.phase = .ended
        return true
    }

    /// A part of the response has gone to the caller.
    package var hasBegun: Bool { self.phase == .passing || self.phase == .ended }

    /// The exchange is over.
    package mutating func reset() { self = ResponseStream() }
}
