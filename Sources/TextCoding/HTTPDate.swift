package import TokenModel

/// An HTTP date (RFC 9110 §5.6.7) in the current format or one of the two obsolete ones, which a recipient must still
/// accept.
package enum HTTPDate {
    /// Parses a date; `nil` for anything else. Letters may have any case (RFC 9111 §4.2). The weekday is not checked
    /// against the date.
    package static func read(_ text: String) -> WallTime? { Self.read(text.utf8.span) }

    /// Parses a date, and allocates nothing.
    package static func read(_ bytes: Span<UInt8>) -> WallTime? {
        if bytes.fits("???, 00 ??? 0000 00:00:00 GMT") {
            return Self.moment(day: 5, month: 8, year: bytes.number(at: 12, count: 4), clock: 17, bytes)
        }
        if bytes.fits("??? ??? _0 00:00:00 0000") {
            return Self.moment(day: 8, month: 4, year: bytes.number(at: 20, count: 4), clock: 11, bytes)
        }
        // The name of the weekday is written out in this format, so that it has six to nine letters.
        guard let comma = bytes.indices.first(where: { bytes[$0] == UInt8(ascii: ",") }), (6...9).contains(comma),
            (0..<comma).allSatisfy({ bytes[$0].isLetter })
        else { return nil }
        let rest = bytes.extracting(comma...)
        guard rest.fits(", 00-???-00 00:00:00 GMT") else { return nil }
        let year = rest.number(at: 9, count: 2)
        return Self.moment(day: 2, month: 5, year: year < 70 ? 2000 + year : 1900 + year, clock: 12, rest)
    }

    /// - Parameters:
    ///   - day: where it stands, as do `month` and `clock`.
    private static func moment(day: Int, month: Int, year: Int64, clock: Int, _ bytes: Span<UInt8>) -> WallTime? {
        let day = bytes.number(at: day, count: 2)
        let (hour, minute) = (bytes.number(at: clock, count: 2), bytes.number(at: clock + 3, count: 2))
        let second = bytes.number(at: clock + 6, count: 2)
        guard hour < 24, minute < 60, second <= 60,  // 60: a leap second
            let month = Self.months.firstIndex(where: { bytes.extracting(month..<month + 3).fits($0) }), year > 0
        else { return nil }
        let days = Self.daysSince1970(year: year, month: Int64(month) + 1, day: day)
        // 31 February would be a day in March.
        guard day > 0, WallTime.date(days: days).day == day else { return nil }
        return WallTime(millisecondsSince1970: (days * 86_400 + hour * 3_600 + minute * 60 + second) * 1_000)
    }

    /// Counts from a year that begins in March, so that the leap day comes last.
    private static func daysSince1970(year: Int64, month: Int64, day: Int64) -> Int64 {
        let year = month > 2 ? year : year - 1
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        let days = year * 365 + year / 4 - year / 100 + year / 400 + dayOfYear
        return days - 719_468  // from 0000-03-01 to 1970-01-01
    }

    private static let months: [StaticString] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

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

extension Span<UInt8> {
    /// Whether the bytes have the form of `template`: `0` stands for a digit, `_` for a digit or a space, `?` for
    /// a letter, and all else for itself. The case of letters does not matter.
    fileprivate func fits(_ template: StaticString) -> Bool {
        guard self.count == template.utf8CodeUnitCount else { return false }
        return template.withUTF8Buffer { template in
            self.indices.allSatisfy { unsafe self[$0].fits(template[$0]) }
        }
    }

    /// The number that these digits make; a space counts as 0.
    fileprivate func number(at start: Int, count: Int) -> Int64 {
        (start..<start + count).reduce(0) { $0 * 10 + Int64(self[$1] & 0x0F) }
    }
}

extension UInt8 {
    fileprivate var isLetter: Bool { (0x61...0x7A).contains(self | 0x20) }
    fileprivate var isDigit: Bool { (0x30...0x39).contains(self) }

    fileprivate func fits(_ template: UInt8) -> Bool {
        switch template {
        case UInt8(ascii: "0"): self.isDigit
        case UInt8(ascii: "_"): self.isDigit || self == UInt8(ascii: " ")
        case UInt8(ascii: "?"): self.isLetter
        default: self == template || template.isLetter && self | 0x20 == template | 0x20
        }
    }
}
