/// What is written to the log.
package struct LogSettings: Equatable, Sendable {
    /// The least important that is written.
    package enum Level: String, Sendable, CaseIterable { case trace, debug, info, warning, error }

    package enum Format: String, Sendable, CaseIterable { case text }

    package let level: Level
    package let format: Format
}
