/// How much of the log may wait to be written. One more line than that is left out, and counted.
package struct LogLimits: Sendable {
    /// Lines, those of requests included.
    package var lines: Int
    /// Of all that waits. A request counts as much as its line takes at most, as a rule.
    package var bytes: Int

    package init(lines: Int = 16_384, bytes: Int = 4 << 20) {
        self.lines = lines
        self.bytes = bytes
    }
}
