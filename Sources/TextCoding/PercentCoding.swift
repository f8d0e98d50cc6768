/// Percent-encoding (RFC 3986 §2.1), and its variant in forms (`application/x-www-form-urlencoded`).
package enum PercentCoding {
    /// Replaces each `%41` by its byte.
    ///
    /// - Parameter isForm: whether `+` stands for a space.
    /// - Returns: `nil` where a `%` is not followed by two hexadecimal digits.
    package static func decode(_ text: Span<UInt8>, isForm: Bool) -> [UInt8]? {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(text.count)
        var index = 0
        while index < text.count {
            switch text[index] {
            case UInt8(ascii: "+") where isForm: decoded.append(UInt8(ascii: " "))
            case UInt8(ascii: "%"):
                guard index + 2 < text.count, let high = HexDigit.value(text[index + 1]),
                    let low = HexDigit.value(text[index + 2])
                else { return nil }
                decoded.append(high << 4 | low)
                index += 2
            default: decoded.append(text[index])
            }
            index += 1
        }
        return decoded
    }

    /// Escapes all characters except the unreserved ones, so that the result is safe anywhere in a query.
    package static func encode(_ text: String) -> String {
        var encoded: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "~"): encoded.append(byte)
            case UInt8(ascii: "*"), UInt8(ascii: " "): Self.escape(byte, into: &encoded)
            default: Self.appendToForm(byte, into: &encoded)
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    /// Appends one byte of a form: itself, `+` for a space, or `%` and two digits.
    package static func appendToForm(_ byte: UInt8, into encoded: inout [UInt8]) {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "*"):
            encoded.append(byte)
        case UInt8(ascii: " "): encoded.append(UInt8(ascii: "+"))
        default: Self.escape(byte, into: &encoded)
        }
    }

    private static func escape(_ byte: UInt8, into encoded: inout [UInt8]) {
        encoded += [UInt8(ascii: "%"), HexDigit.upperCase(byte >> 4), HexDigit.upperCase(byte & 0x0F)]
    }
}

/// One hexadecimal digit.
package enum HexDigit {
    /// The value of a digit in either case; `nil` for any other byte.
    package static func value(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    static func upperCase(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + (value - 10)
    }
}
