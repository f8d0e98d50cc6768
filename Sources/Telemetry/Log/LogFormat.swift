/// How lines of the log are written.
package enum LogFormat: Sendable {
    /// An object per line: `time` (RFC 3339, UTC), `level`, `message`, then the facts as further members.
    case json
    /// Time, level and message, then the facts as `key=value`; for people.
    case text
}
