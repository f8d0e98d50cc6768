import Synchronization

/// Whether a route has dropped cookies yet: that is told once, whichever event loop sees it first.
final class CookieNotice: Sendable {
    /// Whose cookies do not pass.
    enum Side { case request, response }

    private let wasRequestSeen = Atomic(false)
    private let wasResponseSeen = Atomic(false)

    /// Cookies were dropped.
    ///
    /// - Returns: whether those are the first of this side.
    func isFirst(of side: Side) -> Bool {
        switch side {
        case .request: Self.isFirst(self.wasRequestSeen)
        case .response: Self.isFirst(self.wasResponseSeen)
        }
    }

    private static func isFirst(_ wasSeen: borrowing Atomic<Bool>) -> Bool {
        // Nearly all find it set: reading it costs the other loops nothing.
        !wasSeen.load(ordering: .relaxed) && !wasSeen.exchange(true, ordering: .relaxed)
    }
}
