package import TokenModel

/// What a JWT says that a client proves itself by, or that takes the place of a grant (RFC 7523 §3), before it is signed.
///
/// Each is for one request: it has an id of its own, and lives for a minute.
package struct Assertion: Equatable, Sendable {
    /// `iss`: who signs it.
    package var issuer: String
    /// `sub`: whom it is about. RFC 7523 asks for one; Google takes it for a user to act for, and wants none otherwise.
    package var subject: String?
    /// `aud`: the only one who may take it.
    package var audience: String
    /// `scope`, which is not one of the RFC's: Google reads what is asked for here and not in the form.
    package var scopes: [String]
    /// `iat`, by the receiver's clock where that is known to be another one.
    package var issuedAt: WallTime
    /// `jti`: never used before, so that nobody can present it a second time.
    package var id: String

    /// From `iat` to `exp`: time for one exchange, and for clocks that part by less than what is corrected.
    package static let lifetime = Duration.seconds(60)

    package init(
        issuer: String,
        subject: String?,
        audience: String,
        scopes: [String] = [],
        issuedAt: WallTime,
        id: String
    ) {
        self.issuer = issuer
        self.subject = subject
        self.audience = audience
        self.scopes = scopes
        self.issuedAt = issuedAt
        self.id = id
    }

    /// What is signed (RFC 7515 §5.1): header and claims, each base64url, with a dot between.
    ///
    /// - Parameter keyID: `kid`; left out where the receiver knows one key only.
    package func signingInput(algorithm: SigningAlgorithm, keyID: String?) -> [UInt8] {
        var header = JSONObjectWriter()
        header.add("alg", algorithm.rawValue)
        if let keyID { header.add("kid", keyID) }
        header.add("typ", "JWT")

        let seconds = self.issuedAt.millisecondsSince1970 / 1_000
        var claims = JSONObjectWriter()
        claims.add("iss", self.issuer)
        if let subject { claims.add("sub", subject) }
        claims.add("aud", self.audience)
        if !self.scopes.isEmpty { claims.add("scope", self.scopes.joined(separator: " ")) }
        claims.add("iat", seconds)
        claims.add("exp", seconds + Self.lifetime.components.seconds)
        claims.add("jti", self.id)
        return Base64.encodeURLSafe(header.finish()) + [UInt8(ascii: ".")] + Base64.encodeURLSafe(claims.finish())
    }

    /// The whole JWT in its compact form (RFC 7515 §7.1).
    package static func compact(_ signingInput: [UInt8], signature: [UInt8]) -> Secret {
        Secret(signingInput + [UInt8(ascii: ".")] + Base64.encodeURLSafe(signature))
    }

    /// An id nobody has used: 128 bits from the system's random source.
    package static func newID() -> String {
        var generator = SystemRandomNumberGenerator()
        let bytes = (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        return String(decoding: Base64.encodeURLSafe(bytes), as: UTF8.self)
    }
}

/// What a JWT is signed with (RFC 7518 §3.1); the raw values are those of the `alg` header.
package enum SigningAlgorithm: String, Sendable, CaseIterable {
    /// RSASSA-PKCS1-v1_5 with SHA-256; a key of 2048 bits at least (RFC 7518 §3.3).
    case rs256 = "RS256"
    /// ECDSA on P-256 with SHA-256.
    case es256 = "ES256"
}
