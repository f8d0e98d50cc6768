/// How long a stop may take, as people read it.
package enum GracePeriodText {
    /// Whole seconds, or milliseconds where those are not enough.
    package static func text(_ grace: Duration) -> String {
        let (seconds, attoseconds) = grace.components
        guard attoseconds != 0 else { return "\(seconds) s" }
        return "\(Int64(grace / .milliseconds(1))) ms"
    }
}
