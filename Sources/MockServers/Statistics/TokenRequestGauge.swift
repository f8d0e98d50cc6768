/// How many token requests were under way at once, at most. One begins when it has been read and ends just before its
/// answer leaves, or when its client hangs up: a client that gave up and comes again is not two at once.
package struct TokenRequestGauge: Sendable {
    /// One request under way.
    package struct Span: Hashable, Sendable {
        fileprivate let number: Int
    }

    /// The most there ever were.
    package private(set) var mostAtOnce = 0

    /// The most there ever were that carried the same refresh token.
    package private(set) var mostPerRefreshToken = 0

    private var open: [Span: String?] = [:]
    private var perRefreshToken: [String: Int] = [:]
    private var next = 0

    package init() {}

    /// A request has been read.
    package mutating func begin(refreshToken: String?) -> Span {
        let span = Span(number: self.next)
        self.next += 1
        self.open[span] = .some(refreshToken)
        self.mostAtOnce = max(self.mostAtOnce, self.open.count)
        if let refreshToken {
            self.perRefreshToken[refreshToken, default: 0] += 1
            self.mostPerRefreshToken = max(self.mostPerRefreshToken, self.perRefreshToken[refreshToken, default: 0])
        }
        return span
    }

    /// It is over; saying so twice does no harm.
    package mutating func end(_ span: Span) {
        guard let refreshToken = self.open.removeValue(forKey: span) else { return }
        guard let refreshToken, let count = self.perRefreshToken[refreshToken] else { return }
        self.perRefreshToken[refreshToken] = count > 1 ? count - 1 : nil
    }
}
