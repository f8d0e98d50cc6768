/// Makes text from other sources safe for a terminal, which would execute control sequences.
package enum PlainText {
    /// `text` as one line: control, format and line-breaking characters become `\u{…}`.
    package static func line(_ text: String) -> String {
        var shown = ""
        for scalar in text.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator:
                shown += "\\u{\(String(scalar.value, radix: 16))}"
            default: shown.unicodeScalars.append(scalar)
            }
        }
        return shown
    }
}

extension BinaryInteger {
    /// The number with a comma between each three digits, such as `98,214`.
    package var grouped: String {
        let digits = Array(String(self.magnitude))
        let groups = stride(from: digits.count, to: 0, by: -3).map { String(digits[max($0 - 3, 0)..<$0]) }
        return (self < 0 ? "-" : "") + groups.reversed().joined(separator: ",")
    }
}

/// Words of commands that people copy into a shell.
package enum ShellWord {
    /// `text` so that a POSIX shell reads it as one word: as it is if that is safe, else in single quotes.
    package static func quoted(_ text: String) -> String {
        let isSafe = !text.isEmpty && text.unicodeScalars.allSatisfy(Self.isSafe)
        guard !isSafe else { return text }
        let parts = text.split(separator: "'", omittingEmptySubsequences: false)
        return "'\(parts.joined(separator: "'\\''"))'"
    }

    private static func isSafe(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9", ".", "_", "@", "%", "+", ":", ",", "/", "-": true
        default: false
        }
    }
}

/// Durations in text: a whole number and a unit, such as `500ms`, `8s`, `5m`, `1h`.
package enum DurationText {
    /// The duration that `text` names. Nil if it has no unit, a sign, a fraction, or is longer than 1,000,000 hours.
    package static func parse(_ text: some StringProtocol) -> Duration? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        guard let number = Int64(digits), let unit = Self.milliseconds[String(text.dropFirst(digits.count))] else {
            return nil
        }
        let (milliseconds, overflow) = number.multipliedReportingOverflow(by: unit)
        guard !overflow, milliseconds <= Self.longest else { return nil }
        return .milliseconds(milliseconds)
    }

    private static let milliseconds: [String: Int64] = ["ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000]
    private static let longest: Int64 = 1_000_000 * 3_600_000

    /// A duration for people: in whole seconds if possible, else in milliseconds.
    package static func text(of duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        guard attoseconds != 0 else { return "\(seconds) s" }
        return "\(Int64(duration / .milliseconds(1))) ms"
    }
}
