/// What a JWT is signed with (RFC 7518 §3.1); the raw values are those of the `alg` header.
package enum SigningAlgorithm: String, Sendable, CaseIterable {
    /// RSASSA-PKCS1-v1_5 with SHA-256; a key of 2048 bits at least (RFC 7518 §3.3).
    case rs256 = "RS256"
    /// ECDSA on P-256 with SHA-256.
    case es256 = "ES256"
}
