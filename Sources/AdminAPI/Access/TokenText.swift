internal import TokenModel

/// What a token is made of, so that it can neither end a header field nor begin another.
enum TokenText {
    /// Far more than a header field can carry anywhere, and little enough for two of them in one record.
    static let longest = 16_384

    /// Printable ASCII but the space (`VCHAR`, RFC 5234 §B.1).
    static func isTokenByte(_ byte: UInt8) -> Bool { byte > 0x20 && byte < 0x7F }

    /// Whether `secret` may stand in a header field as a token.
    static func isToken(_ secret: Secret) -> Bool {
        guard (1...Self.longest).contains(secret.count) else { return false }
        return secret.withUnredacted { bytes in
            for index in bytes.indices where !Self.isTokenByte(bytes[index]) { return false }
            return true
        }
    }
}
