/// Percent-encoding as forms and queries use it (RFC 3986 section 2.1, WHATWG `application/x-www-form-urlencoded`).
package enum PercentCoding {
    /// Reads `+` as a space and `%41` as its byte; nil when an escape is broken or the bytes are not UTF-8.
    package static func decodeForm(_ text: some StringProtocol) -> String? {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "+"):
                bytes.append(UInt8(ascii: " "))
            case UInt8(ascii: "%"):
                guard let high = rest.popFirst().flatMap(Self.nibble), let low = rest.popFirst().flatMap(Self.nibble)
                else { return nil }
                bytes.append(high << 4 | low)
            default:
                bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// Escapes everything but the unreserved characters of RFC 3986, so that the result is safe anywhere in a query.
    package static func encode(_ text: String) -> String {
        var encoded = ""
        for byte in text.utf8 {
            let scalar = Unicode.Scalar(byte)
            if scalar.isASCII, scalar.properties.isAlphabetic || "0123456789-._~".unicodeScalars.contains(scalar) {
                encoded.unicodeScalars.append(scalar)
            } else {
                let digits = String(byte, radix: 16, uppercase: true)
                encoded += digits.count == 1 ? "%0\(digits)" : "%\(digits)"
            }
        }
        return encoded
    }

    private static func nibble(_ digit: UInt8) -> UInt8? {
        Unicode.Scalar(digit).properties.isASCIIHexDigit ? UInt8(String(Unicode.Scalar(digit)), radix: 16) : nil
    }
}
