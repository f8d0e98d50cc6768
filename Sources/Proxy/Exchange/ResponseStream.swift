/// One request's response on its way from the upstream to the caller: how far it is, decided without touching a connection.
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

    /// More interim responses than this are no HTTP.
    private static let interimLimit = 20

    package private(set) var phase = Phase.none
    private var interims = 0
    /// An interim response has gone to the caller: the request is not sent again for the caller's sake.
    package private(set) var hasPassedInterim = false
    /// What was held is gone with its connection.
    package private(set) var isHeldLost = false

    package init() {}

    /// An interim head (1xx) has come.
    ///
    /// - Returns: whether that is not one too many.
    package mutating func countInterim() -> Bool {
        self.interims += 1
        return self.interims <= Self.interimLimit
    }

    package mutating func passedInterim() { self.hasPassedInterim = true }

    /// The head has come, and its body must be read to judge it.
    package mutating func inspect() {
        assert(self.phase == .none, "there is a response already")
        self.phase = .inspecting
    }

    /// It waits.
    package mutating func hold() {
        assert(self.phase == .none || self.phase == .inspecting, "only a new response can be held")
        self.phase = .held
        self.isHeldLost = false
    }

    /// It goes to the caller.
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

    /// It is not wanted: the request is sent again.
    package mutating func discard() {
        assert(self.phase != .passing && self.phase != .ended, "what has gone can't be discarded")
        self.phase = .none
        self.isHeldLost = false
    }

    /// What was held is gone, while another token may come yet.
    package mutating func loseHeld() {
        if self.phase == .held { self.isHeldLost = true }
    }

    package enum Lost: Equatable, Sendable {
        /// Nothing of it has gone to the caller, which can be told; or the request is sent again.
        case unanswered
        /// Its body was being inspected: that can't be had again.
        case failed
        /// What is held is looked for when it is asked for.
        case nothing
        /// The caller must see that it is not whole.
        case cut
        /// It is whole; only the rest of the request has nowhere to go.
        case stopRequest
    }

    /// The upstream connection is gone before the exchange's end.
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

    /// The upstream has sent all of it.
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

    /// Something of it has gone to the caller.
    package var hasBegun: Bool { self.phase == .passing || self.phase == .ended }

    /// The exchange is over.
    package mutating func reset() { self = ResponseStream() }
}
