package import FoundationEssentials

/// Moments as people say them.
package struct RelativeTime: Sendable {
    /// What "now" is.
    private let now: Date

    package init(now: Date) {
        self.now = now
    }

    /// `in 54 min`, `3 h ago`; a dash for `nil`.
    ///
    /// - Parameter moment: as the admin API writes it (RFC 3339, UTC with milliseconds); what is none is shown as it is.
    package func text(_ moment: String?) -> String {
        guard let moment else { return "-" }
        guard let date = try? Self.format.parse(moment) else { return moment }
        let seconds = Int64((date.timeIntervalSince(self.now)).rounded())
        guard seconds != 0 else { return "now" }
        let amount = Self.amount(seconds.magnitude)
        return seconds > 0 ? "in \(amount)" : "\(amount) ago"
    }

    /// Whether a moment has come, as ``text(_:)`` takes it; what is none has not.
    package func isOver(_ moment: String) -> Bool { (try? Self.format.parse(moment)).map { $0 <= self.now } ?? false }

    /// Both ways: `in 54 min (2026-11-19T08:30:00.250Z)`.
    package func longText(_ moment: String?) -> String {
        guard let moment else { return "-" }
        return "\(self.text(moment)) (\(moment))"
    }

    private static let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

    /// In the largest unit there is at least one and a half of, so that little is lost in rounding.
    private static func amount(_ seconds: UInt64) -> String {
        switch seconds {
        case ..<90: "\(seconds) s"
        case ..<5_400: "\((seconds + 30) / 60) min"
        case ..<129_600: "\((seconds + 1_800) / 3_600) h"
        default: "\((seconds + 43_200) / 86_400) d"
        }
    }
}
