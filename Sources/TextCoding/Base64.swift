/// Base64 with its two alphabets (RFC 4648): the standard one, and the URL-safe one of JWTs.
package enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)

    /// The last two characters of an alphabet.
    private typealias Tail = (UInt8, UInt8)
    private static let standard: Tail = (UInt8(ascii: "+"), UInt8(ascii: "/"))
    private static let urlSafe: Tail = (UInt8(ascii: "-"), UInt8(ascii: "_"))

    /// Encodes with the standard alphabet and padding (§4), as for `Authorization: Basic`.
    package static func encode(_ bytes: [UInt8]) -> [UInt8] {
        // One buffer of the final size: what is encoded may be a secret, and a buffer that grows leaves a copy behind.
        var encoded = Self.encode(bytes, Self.standard)
        while encoded.count % 4 != 0 { encoded.append(UInt8(ascii: "=")) }
        return encoded
    }

    /// Encodes with the URL-safe alphabet and without padding (§5).
    package static func encodeURLSafe(_ bytes: some Sequence<UInt8>) -> [UInt8] { Self.encode(bytes, Self.urlSafe) }

    /// The same as text.
    package static func urlSafeText(_ bytes: some Sequence<UInt8>) -> String {
        String(decoding: Self.encodeURLSafe(bytes), as: UTF8.self)
    }

    /// Decodes the standard alphabet, with or without padding.
    ///
    /// - Returns: `nil` for any other text.
    package static func decode(_ text: Span<UInt8>) -> [UInt8]? {
        var count = text.count
        while count > 0, text.count - count < 2, text[count - 1] == UInt8(ascii: "=") { count -= 1 }
        return Self.decode(text.extracting(0..<count), Self.standard)
    }

    /// Decodes the URL-safe alphabet without padding.
    ///
    /// - Returns: `nil` for any other text.
    package static func decodeURLSafe(_ text: Span<UInt8>) -> [UInt8]? { Self.decode(text, Self.urlSafe) }

    private static func encode(_ bytes: some Sequence<UInt8>, _ tail: Tail) -> [UInt8] {
        var encoded: [UInt8] = []
        encoded.reserveCapacity((bytes.underestimatedCount + 2) / 3 * 4)
        var pending: UInt32 = 0
        var bits: UInt32 = 0
        func append(_ value: UInt32) {
            switch value {
            case 62: encoded.append(tail.0)
            case 63: encoded.append(tail.1)
            default: encoded.append(Self.alphabet[Int(value)])
            }
        }
        for byte in bytes {
            pending = pending << 8 | UInt32(byte)
            bits += 8
            while bits >= 6 {
                bits -= 6
                append(pending >> bits & 0x3F)
            }
            pending &= 1 << bits - 1
        }
        if bits > 0 { append(pending << (6 - bits) & 0x3F) }
        return encoded
    }

    private static func decode(_ text: Span<UInt8>, _ tail: Tail) -> [UInt8]? {
        // Six bits are not a whole byte.
        guard text.count % 4 != 1 else { return nil }
        var decoded: [UInt8] = []
        decoded.reserveCapacity(text.count / 4 * 3 + 2)
        var group: UInt32 = 0
        var bits = 0
        for index in text.indices {
            guard let value = Self.value(of: text[index], tail) else { return nil }
            group = (group << 6 | value) & 0x00FF_FFFF
            bits += 6
            if bits >= 8 {
                bits -= 8
                decoded.append(UInt8(truncatingIfNeeded: group >> UInt32(bits)))
            }
        }
        return decoded
    }

    private static func value(of character: UInt8, _ tail: Tail) -> UInt32? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(character - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(character - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(character - UInt8(ascii: "0")) + 52
        case tail.0: 62
        case tail.1: 63
        default: nil
        }
    }
}
