/// How fast one process sends token requests to a provider, at the most.
package struct RefreshRateSettings: Equatable, Sendable {
    /// In the long run.
    package let perSecond: Int
    /// At once, after a time of rest.
    package let burst: Int

    package init(perSecond: Int, burst: Int) {
        self.perSecond = perSecond
        self.burst = burst
    }

    static let standard = RefreshRateSettings(perSecond: 50, burst: 200)
}
