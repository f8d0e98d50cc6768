/// The alphabet of JWTs and PKCE: base 64 with `-` and `_`, without padding (RFC 4648 section 5).
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
