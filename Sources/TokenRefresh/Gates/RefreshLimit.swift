package import TokenModel

/// Limits how often one account may be refreshed: once per half of its token's lifetime or 5 times in 30 s, whichever
/// allows more. It stops loops that nothing else detects, such as an issuer whose tokens expire at once.
package struct RefreshLimit: Equatable, Sendable {
    private var recent: [BootInstant] = []

    package init() {}

    private static let burst = 5
    private static let window = Duration.seconds(30)
    /// A lifetime of zero must not lift the limit.
    private static let shortestSpacing = Duration.seconds(1)

    /// Counts another refresh at `now` if it is allowed.
    ///
    /// - Parameter lifetime: the current access token's lifetime; `nil` if there is no access token.
    /// - Returns: `nil` if the refresh is allowed, otherwise how long to wait.
    package mutating func admit(lifetime: Duration?, now: BootInstant) -> Duration? {
        self.recent.removeAll { $0.duration(to: now) >= Self.window }
        if self.recent.count >= Self.burst, let oldest = self.recent.first, let latest = self.recent.last {
            let byWindow = Self.window - oldest.duration(to: now)
            let byLifetime = lifetime.map { max($0 / 2, Self.shortestSpacing) - latest.duration(to: now) }
            let wait = min(byWindow, byLifetime ?? byWindow)
            guard wait <= .zero else { return wait }
            self.recent.removeFirst()
        }
        self.recent.append(now)
        return nil
    }

    /// Takes the last refresh back, since nothing was sent to the provider.
    package mutating func giveBack() {
        _ = self.recent.popLast()
    }
}

/// The maximum rate at which a process sends token requests to one provider.
package typealias RefreshRate = RequestRate
