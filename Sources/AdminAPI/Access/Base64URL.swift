/// The URL-safe alphabet of base64, without padding (RFC 4648 §5).
enum Base64URL {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    static func encode(_ bytes: [UInt8]) -> [UInt8] {
        var encoded: [UInt8] = []
        encoded.reserveCapacity((bytes.count * 4 + 2) / 3)
        var pending: UInt32 = 0
        var bits = 0
        for byte in bytes {
            pending = pending << 8 | UInt32(byte)
            bits += 8
            while bits >= 6 {
                bits -= 6
                encoded.append(Self.alphabet[Int(pending >> bits & 0x3F)])
            }
        }
        if bits > 0 { encoded.append(Self.alphabet[Int(pending << (6 - bits) & 0x3F)]) }
        return encoded
    }
}
