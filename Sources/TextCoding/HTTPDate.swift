package import TokenModel

/// An HTTP date (RFC 9110 §5.6.7) in the current format or one of the two obsolete ones, which a recipient must still
/// accept.
package enum HTTPDate {
    /// Parses a date; `nil` for anything else. The weekday is not checked against the date.
    package static func read(_ text: String) -> WallTime? {
        guard text.utf8.count <= 40 else { return nil }
        let words = text.split(whereSeparator: { $0 == " " || $0 == "," || $0 == "-" })
        return switch words.count {
        case 6 where words[5] == "GMT" && words[3].utf8.count == 4:
            // Sun, 06 Nov 1994 08:49:37 GMT
            Self.moment(day: words[1], month: words[2], year: Self.number(words[3]), time: words[4])
        case 6 where words[5] == "GMT" && words[3].utf8.count == 2:
            // Sunday, 06-Nov-94 08:49:37 GMT
            Self.moment(
                day: words[1],
                month: words[2],
                year: Self.number(words[3]).map { $0 < 70 ? 2000 + $0 : 1900 + $0 },
                time: words[4]
            )
        case 5:
            // Sun Nov  6 08:49:37 1994
            Self.moment(day: words[2], month: words[1], year: Self.number(words[4]), time: words[3])
        default:
            nil
        }
    }

    private static let months: [Substring] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private static func moment(day: Substring, month: Substring, year: Int64?, time: Substring) -> WallTime? {
        let clock = time.split(separator: ":", omittingEmptySubsequences: false).map(Self.number)
        guard clock.count == 3, let hour = clock[0], let minute = clock[1], let second = clock[2],
            hour < 24, minute < 60, second <= 60,  // 60: a leap second
            let month = Self.months.firstIndex(of: month), let day = Self.number(day), (1...31).contains(day),
            let year, (1...9999).contains(year)
        else { return nil }

        let days = Self.daysSince1970(year: year, month: Int64(month) + 1, day: day)
        return WallTime(millisecondsSince1970: (days * 86_400 + hour * 3_600 + minute * 60 + second) * 1_000)
    }

    /// Counts from a year that begins in March, so that the leap day comes last.
    private static func daysSince1970(year: Int64, month: Int64, day: Int64) -> Int64 {
        let year = month > 2 ? year : year - 1
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        let days = year * 365 + year / 4 - year / 100 + year / 400 + dayOfYear
        return days - 719_468  // from 0000-03-01 to 1970-01-01
    }

    private static func number(_ digits: Substring) -> Int64? {
        guard (1...4).contains(digits.utf8.count), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return Int64(digits)
    }

    /// The date in the current format, `Sun, 06 Nov 1994 08:49:37 GMT`. Meant for the times that a clock shows.
    package static func text(of time: WallTime) -> String {
        let seconds = time.millisecondsSince1970.flooredQuotientAndRemainder(by: 1_000).quotient
        let (days, second) = seconds.flooredQuotientAndRemainder(by: 86_400)
        let (year, month, day) = WallTime.date(days: days)
        let clock = [second / 3_600, second / 60 % 60, second % 60].map(Self.twoDigits).joined(separator: ":")
        // 1970-01-01 was a Thursday.
        let weekday = Self.weekdays[Int((days + 4).flooredQuotientAndRemainder(by: 7).remainder)]
        return "\(weekday), \(Self.twoDigits(day)) \(Self.months[Int(month) - 1]) \(year) \(clock) GMT"
    }

    private static func twoDigits(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }

    private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
}
