import TokenModel

/// Writes moments in RFC 3339, and remembers the last second's text: many lines share one.
struct TimeStamp {
    private var second = Int64.min
    private var text: [UInt8] = []
    /// 9999-12-31T23:59:59.999Z.
    private static let last: Int64 = 253_402_300_799_999

    mutating func append(_ time: WallTime, to bytes: inout [UInt8]) {
        // What the calendar of RFC 3339 does not have is shown as 1970: no log is written then.
        let isShown = (0...Self.last).contains(time.millisecondsSince1970)
        let (second, fraction) = (isShown ? time.millisecondsSince1970 : 0).quotientAndRemainder(dividingBy: 1_000)
        if second != self.second || self.text.isEmpty {
            self.second = second
            // Up to and with the point before the milliseconds.
            self.text = Array(WallTime(millisecondsSince1970: second * 1_000).rfc3339.utf8.dropLast(4))
        }
        let zero = UInt8(ascii: "0")
        bytes += self.text
        bytes.append(zero + UInt8(fraction / 100))
        bytes.append(zero + UInt8(fraction / 10 % 10))
        bytes.append(zero + UInt8(fraction % 10))
        bytes.append(UInt8(ascii: "Z"))
    }
}
