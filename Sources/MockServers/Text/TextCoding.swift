/// The fields of a form or a query, each given at most once (RFC 6749 section 3.1).
package struct FormBody: Sendable {
    private let values: [String: String]

    /// Reads `a=1&b=2`. A field without a value counts as missing.
    ///
    /// Throws `invalid_request` for a broken escape or a repeated field.
    package init(_ text: some StringProtocol) throws(GrantRefusal) {
        var values: [String: String] = [:]
        for pair in text.split(separator: "&") {
            let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = PercentCoding.decodeForm(halves[0]),
                let value = PercentCoding.decodeForm(halves.count > 1 ? halves[1] : "")
            else {
                throw GrantRefusal(.invalidRequest, "the form has a broken percent escape")
            }
            guard values.updateValue(value, forKey: name) == nil else {
                throw GrantRefusal(.invalidRequest, "the form repeats a field")
            }
        }
        self.values = values.filter { !$0.value.isEmpty }
    }

    /// The decoded value, or nil if the field is missing or empty.
    package subscript(name: String) -> String? { self.values[name] }

    /// The decoded value. Throws `invalid_request` with the field's name if the field is missing or empty.
    package func require(_ name: String) throws(GrantRefusal) -> String {
        guard let value = self.values[name] else {
            throw GrantRefusal(.invalidRequest, "the form has no \(name)")
        }
        return value
    }
}

/// Percent-encoding as forms and queries use it (RFC 3986 section 2.1, WHATWG `application/x-www-form-urlencoded`).
package enum PercentCoding {
    /// Decodes `+` as a space and `%41` as its byte. Returns nil if an escape is broken or the bytes are not UTF-8.
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

    /// Escapes all characters except the unreserved ones of RFC 3986, so that the result is safe anywhere in a query.
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

/// The alphabet of JWTs and PKCE: Base64 with `-` and `_`, without padding (RFC 4648 section 5).
package enum Base64URL {
    /// Encodes `bytes`.
    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        var text: [UInt8] = []
        var pending: UInt32 = 0
        var bits: UInt32 = 0
        for byte in bytes {
            pending = pending << 8 | UInt32(byte)
            bits += 8
            while bits >= 6 {
                bits -= 6
                text.append(Self.alphabet[Int(pending >> bits & 63)])
            }
            pending &= 1 << bits - 1
        }
        if bits > 0 {
            text.append(Self.alphabet[Int(pending << (6 - bits) & 63)])
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
}

/// Durations in text: a whole number and a unit, such as `500ms`, `8s`, `5m`, `1h`.
package enum DurationText {
    /// The duration that `text` names. Nil if it has no unit, a sign, a fraction, or is longer than 1,000,000 hours.
    package static func parse(_ text: some StringProtocol) -> Duration? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        guard let number = Int64(digits), let unit = Self.milliseconds[String(text.dropFirst(digits.count))] else {
            return nil
        }
        let (milliseconds, overflow) = number.multipliedReportingOverflow(by: unit)
        guard !overflow, milliseconds <= Self.longest else { return nil }
        return .milliseconds(milliseconds)
    }

    private static let milliseconds: [String: Int64] = ["ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000]
    private static let longest: Int64 = 1_000_000 * 3_600_000
}
