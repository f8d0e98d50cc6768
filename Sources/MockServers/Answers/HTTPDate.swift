package import TokenModel

/// The `Date` field (RFC 9110 section 5.6.7).
package enum HTTPDate {
    /// `Sun, 06 Nov 1994 08:49:37 GMT`.
    package static func text(_ time: WallTime) -> String {
        let seconds = time.millisecondsSince1970 / 1_000
        let (days, second) = seconds.quotientAndRemainder(dividingBy: 86_400)
        let (year, month, day) = Self.civil(daysSince1970: Int(days))
        let clock = [second / 3_600, second / 60 % 60, second % 60].map { Self.twoDigits(Int($0)) }
        // 1970-01-01 was a Thursday.
        return "\(Self.weekdays[(Int(days) + 4) % 7]), \(Self.twoDigits(day)) \(Self.months[month - 1]) \(year) "
            + "\(clock.joined(separator: ":")) GMT"
    }

    /// Counts through years and months from 1970; enough for the times a clock shows.
    private static func civil(daysSince1970: Int) -> (year: Int, month: Int, day: Int) {
        var left = daysSince1970
        var year = 1970
        while left >= Self.daysIn(year) {
            left -= Self.daysIn(year)
            year += 1
        }
        var month = 1
        while left >= Self.daysIn(month, of: year) {
            left -= Self.daysIn(month, of: year)
            month += 1
        }
        return (year, month, left + 1)
    }

    private static func isLeap(_ year: Int) -> Bool {
        year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400))
    }

    private static func daysIn(_ year: Int) -> Int { Self.isLeap(year) ? 366 : 365 }

    private static func daysIn(_ month: Int, of year: Int) -> Int {
        month == 2 && Self.isLeap(year) ? 29 : [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]
    }

    private static func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

    private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
}
