/// How long a request's body has been waited for: only that counts against the caller, not the time in which the upstream
/// takes nothing.
///
/// It is told by the sweep, so a request costs no clock for it.
package struct BodyPace: Sendable {
    private var sweeps = 0

    package init() {}

    /// A sweep has found that more of the body is wanted.
    package mutating func waited() { self.sweeps += 1 }

    /// The body comes slower than it must.
    ///
    /// - Parameter bytes: what has come of it.
    package func isTooSlow(_ bytes: Int, by timeouts: CallerTimeouts) -> Bool {
        let waited = Tick.period * Double(self.sweeps)
        guard waited > timeouts.bodyGrace else { return false }
        return Double(bytes) < Double(timeouts.bodyRate) * (waited / .seconds(1))
    }
}
