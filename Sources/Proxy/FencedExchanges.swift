/// What became of the requests under way that carried a killed token.
package struct FencedExchanges: Equatable, Sendable {
    /// Their connections are gone.
    package var closed: Int
    /// Their heads had left, and they may end.
    package var draining: Int

    package init(closed: Int = 0, draining: Int = 0) {
        self.closed = closed
        self.draining = draining
    }

    package static func += (left: inout FencedExchanges, right: FencedExchanges) {
        left.closed += right.closed
        left.draining += right.draining
    }
}
