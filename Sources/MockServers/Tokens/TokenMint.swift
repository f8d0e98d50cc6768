/// Makes the strings that stand for tokens. Two calls never give the same one.
package protocol TokenMint: Sendable {
    /// A new access token for `claims`; throws `server_error` when it can't be signed.
    func accessToken(for claims: AccessClaims) throws(GrantRefusal) -> String

    /// A new opaque string: refresh tokens and authorization codes, which nobody but the provider reads.
    func opaqueToken(_ prefix: String) -> String
}

extension TokenMint {
    /// 256 random bits behind a prefix that tells a reader of a trace what the string is.
    package func opaqueToken(_ prefix: String) -> String {
        var generator = SystemRandomNumberGenerator()
        return "\(prefix)_\(Base64URL.encode((0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }))"
    }
}
