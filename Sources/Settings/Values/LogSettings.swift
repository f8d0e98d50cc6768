/// What is written to the log.
package struct LogSettings: Equatable, Sendable {
    /// The lowest level that is written.
    package enum Level: String, Sendable, CaseIterable { case trace, debug, info, warning, error }

    package enum Format: String, Sendable, CaseIterable { case json, text }

    package let level: Level
    package let format: Format
    /// Whether each request writes a log entry.
    package let access: Bool

    package init(level: Level, format: Format, access: Bool) {
        self.level = level
        self.format = format
        self.access = access
    }
}
