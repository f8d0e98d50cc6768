/// Base64 (RFC 4648 §4), as the credentials of `Basic` are written.
enum Base64 {
    /// - Returns: `nil` for anything but the alphabet, with or without padding at the end.
    static func decode(_ text: Span<UInt8>) -> [UInt8]? {
        var count = text.count
        while count > 0, text.count - count < 2, text[count - 1] == 0x3D { count -= 1 }
        // Six bits are no byte.
        guard count % 4 != 1 else { return nil }
        var decoded: [UInt8] = []
        decoded.reserveCapacity(count / 4 * 3 + 2)
        var bits: UInt32 = 0
        for index in 0..<count {
            guard let value = Self.value(of: text[index]) else { return nil }
            bits = bits << 6 | UInt32(value)
            guard index % 4 != 0 else { continue }
            decoded.append(UInt8(truncatingIfNeeded: bits >> UInt32(6 - 2 * (index % 4))))
        }
        return decoded
    }

    private static func value(of character: UInt8) -> UInt8? {
        switch character {
        case 0x41...0x5A: character - 0x41
        case 0x61...0x7A: character - 0x47
        case 0x30...0x39: character + 4
        case 0x2B: 62
        case 0x2F: 63
        default: nil
        }
    }
}
