/// How fast a process sends token requests to one provider, at the most.
package struct RefreshRate: Equatable, Sendable {
    /// In the long run.
    package let perSecond: Int
    /// At once, after a time of rest.
    package let burst: Int

    /// Numbers below 1 count as 1.
    package init(perSecond: Int = 50, burst: Int = 200) {
        self.perSecond = max(perSecond, 1)
        self.burst = max(burst, 1)
    }
}
