package import TokenModel

/// An HTTP date (RFC 9110 §5.6.7) in the current format or one of the two obsolete ones, which a recipient must still
/// accept.
package enum HTTPDate {
    /// Parses a date; `nil` for anything else. The weekday is not checked against the date.
    package static func read(_ text: String) -> WallTime? { Self.read(text.utf8.span) }

    /// Parses a date, and allocates nothing.
    package static func read(_ bytes: Span<UInt8>) -> WallTime? {
        guard bytes.count <= 40 else { return nil }
        var words = InlineArray<6, Range<Int>>(repeating: 0..<0)
        var count = 0
        var start = 0
        for position in 0...bytes.count {
            guard position == bytes.count || Self.separates(bytes[position]) else { continue }
            if start < position {
                guard count < words.count else { return nil }
                words[count] = start..<position
                count += 1
            }
            start = position + 1
        }
        if count == 5 {
            // Sun Nov  6 08:49:37 1994
            let year = Self.number(words[4], bytes)
            return Self.moment(day: words[2], month: words[1], year: year, time: words[3], bytes)
        }
        guard count == 6, bytes.extracting(words[5]).isEqual(to: "GMT") else { return nil }
        var year = Self.number(words[3], bytes)
        switch words[3].count {
        case 4: break  // Sun, 06 Nov 1994 08:49:37 GMT
        case 2: year = year.map { $0 < 70 ? 2000 + $0 : 1900 + $0 }  // Sunday, 06-Nov-94 08:49:37 GMT
        default: return nil
        }
        return Self.moment(day: words[1], month: words[2], year: year, time: words[4], bytes)
    }

    private static func separates(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: ",") || byte == UInt8(ascii: "-")
    }

    private static func moment(
        day: Range<Int>,
        month: Range<Int>,
        year: Int64?,
        time: Range<Int>,
        _ bytes: Span<UInt8>
    ) -> WallTime? {
        var clock: (Int64, Int64, Int64) = (0, 0, 0)
        var start = time.lowerBound
        var colons = 0
        for position in time where bytes[position] == UInt8(ascii: ":") {
            guard let number = Self.number(start..<position, bytes) else { return nil }
            clock = (clock.1, number, 0)
            start = position + 1
            colons += 1
        }
        guard colons == 2, let second = Self.number(start..<time.upperBound, bytes) else { return nil }
        let (hour, minute, _) = clock
        guard hour < 24, minute < 60, second <= 60,  // 60: a leap second
            let month = Self.months.firstIndex(where: { bytes.extracting(month).isEqual(to: $0) }),
            let day = Self.number(day, bytes), (1...31).contains(day),
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

    /// One to four digits.
    private static func number(_ range: Range<Int>, _ bytes: Span<UInt8>) -> Int64? {
        guard (1...4).contains(range.count) else { return nil }
        var number: Int64 = 0
        for position in range {
            guard (0x30...0x39).contains(bytes[position]) else { return nil }
            number = number * 10 + Int64(bytes[position] & 0x0F)
        }
        return number
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
    /// Whether the bytes are those of `text`, in the same case.
    fileprivate func isEqual(to text: StaticString) -> Bool {
        guard self.count == text.utf8CodeUnitCount else { return false }
        return text.withUTF8Buffer { text in
            self.indices.allSatisfy { unsafe self[$0] == text[$0] }
        }
    }
}
