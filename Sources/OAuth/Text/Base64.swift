/// The two base64 alphabets of RFC 4648, as far as OAuth needs them.
enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// Encodes with the standard alphabet and padding (§4), for `Authorization: Basic`.
    static func encode(_ bytes: [UInt8]) -> [UInt8] {
        var encoded: [UInt8] = []
        encoded.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let count = min(3, bytes.count - start)
            var group: UInt32 = 0
            for offset in 0..<3 {
                group = group << 8 | (offset < count ? UInt32(bytes[start + offset]) : 0)
            }
            for digit in 0..<4 {
                let value = Int(group >> UInt32(18 - 6 * digit) & 0x3F)
                encoded.append(digit <= count ? Self.alphabet[value] : UInt8(ascii: "="))
            }
        }
        return encoded
    }

    /// Encodes with the URL-safe alphabet and without padding (§5), as in a JWT.
    static func encodeURLSafe(_ bytes: [UInt8]) -> [UInt8] {
        Self.encode(bytes).compactMap { digit -> UInt8? in
            switch digit {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            case UInt8(ascii: "="): nil
            default: digit
            }
        }
    }

    /// Decodes the URL-safe alphabet without padding (§5), as in a JWT; `nil` for anything else.
    static func decodeURLSafe(_ bytes: Span<UInt8>, from start: Int, to stop: Int) -> [UInt8]? {
        guard (stop - start) % 4 != 1 else { return nil }
        var decoded: [UInt8] = []
        decoded.reserveCapacity((stop - start) / 4 * 3 + 2)
        var group: UInt32 = 0
        var bits = 0
        for index in start..<stop {
            guard let digit = Self.urlSafeValue(bytes[index]) else { return nil }
            group = (group << 6 | digit) & 0x00FF_FFFF
            bits += 6
            if bits >= 8 {
                bits -= 8
                decoded.append(UInt8(truncatingIfNeeded: group >> UInt32(bits)))
            }
        }
        return decoded
    }

    private static func urlSafeValue(_ byte: UInt8) -> UInt32? {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(byte - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(byte - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "-"): 62
        case UInt8(ascii: "_"): 63
        default: nil
        }
    }
}
