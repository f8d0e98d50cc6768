// The character classes that configuration values are checked against.

extension UInt8 {
    private static let tokenMarks = Set("!#$%&'*+-.^_`|~".utf8)
    private static let subDelimiters = Set("!$&'()*+,;=".utf8)

    var isASCIILetter: Bool { (self | 0x20) &- 0x61 < 26 && self < 0x80 }
    var isASCIIDigit: Bool { self &- 0x30 < 10 }

    /// `tchar` (RFC 9110 §5.6.2).
    var isTokenCharacter: Bool { self.isASCIILetter || self.isASCIIDigit || Self.tokenMarks.contains(self) }

    /// `unreserved` (RFC 3986 §2.3).
    var isUnreserved: Bool {
        self.isASCIILetter || self.isASCIIDigit || self == 0x2D || self == 0x2E || self == 0x5F || self == 0x7E
    }

    /// `pchar` without `pct-encoded` (RFC 3986 §3.3): what stands in a path as itself.
    var isPathCharacter: Bool {
        self.isUnreserved || Self.subDelimiters.contains(self) || self == 0x3A || self == 0x40
    }

    /// Printable ASCII, the space included.
    var isPrintable: Bool { self >= 0x20 && self < 0x7F }

    /// The value of an upper-case hexadecimal digit, or of a lower-case one.
    var hexadecimalValue: UInt8? {
        switch self {
        case 0x30...0x39: self - 0x30
        case 0x41...0x46: self - 0x37
        case 0x61...0x66: self - 0x57
        default: nil
        }
    }
}
