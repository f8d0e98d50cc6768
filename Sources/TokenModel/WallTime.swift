/// A moment on the wall clock: milliseconds since 1970-01-01T00:00:00Z. Only for stored or displayed times; ages within
/// a process are counted on ``BootClock``.
package struct WallTime: Hashable, Comparable, Sendable {
    package let millisecondsSince1970: Int64

    package init(millisecondsSince1970: Int64) { self.millisecondsSince1970 = millisecondsSince1970 }

    package static func < (left: WallTime, right: WallTime) -> Bool {
        left.millisecondsSince1970 < right.millisecondsSince1970
    }

    /// Saturates at both ends.
    package func advanced(by duration: Duration) -> WallTime {
        let (sum, overflow) = self.millisecondsSince1970.addingReportingOverflow(
            duration.clampedNanoseconds / 1_000_000
        )
        return WallTime(millisecondsSince1970: overflow ? (duration < .zero ? .min : .max) : sum)
    }

    /// Saturates at both ends.
    package func duration(to other: WallTime) -> Duration {
        let (difference, overflow) = other.millisecondsSince1970.subtractingReportingOverflow(
            self.millisecondsSince1970
        )
        return .milliseconds(overflow ? (other > self ? .max : .min) : difference)
    }
}

extension WallTime {
    /// The moment in UTC with milliseconds, `2026-11-19T08:30:00.250Z` (RFC 3339 §5.6). The format has four digits for
    /// the year. Moments before year 0 or after year 9999 are shown as the first or last moment that it can express.
    package var rfc3339: String {
        let shown = min(max(self.millisecondsSince1970, Self.first), Self.last)
        let (days, millisecond) = shown.flooredQuotientAndRemainder(by: 86_400_000)
        let (year, month, day) = Self.date(days: days)
        let second = millisecond / 1_000
        let date = "\(Self.padded(year, 4))-\(Self.padded(month, 2))-\(Self.padded(day, 2))"
        let time = [second / 3_600, second / 60 % 60, second % 60].map { Self.padded($0, 2) }.joined(separator: ":")
        return "\(date)T\(time).\(Self.padded(millisecond % 1_000, 3))Z"
    }

    private static let first: Int64 = -62_167_219_200_000
    private static let last: Int64 = 253_402_300_799_999

    /// The proleptic Gregorian date for a number of days after 1970-01-01. The calculation counts years from March, so
    /// that the leap day is the last day of a year; 400 years have 146,097 days.
    package static func date(days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let (era, dayOfEra) = (days + 719_468).flooredQuotientAndRemainder(by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        return (era * 400 + yearOfEra + (month <= 2 ? 1 : 0), month, day)
    }

    private static func padded(_ number: Int64, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}

extension Int64 {
    /// Like `quotientAndRemainder`, but the remainder is never negative.
    package func flooredQuotientAndRemainder(by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = self.quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
