extension WallTime {
    /// The moment as HTTP writes it, `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 §5.6.7); meant for the times a clock shows.
    package var httpDate: String {
        let seconds = self.millisecondsSince1970.flooredQuotientAndRemainder(by: 1_000).quotient
        let (days, second) = seconds.flooredQuotientAndRemainder(by: 86_400)
        let (year, month, day) = Self.date(days: days)
        let clock = [second / 3_600, second / 60 % 60, second % 60].map(Self.twoDigits).joined(separator: ":")
        // 1970-01-01 was a Thursday.
        let weekday = Self.weekdays[Int((days + 4).flooredQuotientAndRemainder(by: 7).remainder)]
        return "\(weekday), \(Self.twoDigits(day)) \(Self.months[Int(month) - 1]) \(year) \(clock) GMT"
    }

    private static func twoDigits(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }

    private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
}
