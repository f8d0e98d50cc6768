internal import TextCoding
package import TokenModel

/// The claims of a JWT that authenticates a client or serves as a grant (RFC 7523 §3), before it is signed.
///
/// Each assertion is for one request: it has an id of its own and is valid for one minute.
package struct Assertion: Equatable, Sendable {
    /// `iss`: who signs it.
    package var issuer: String
    /// `sub`: the subject. RFC 7523 requires one. Google takes it for a user to impersonate, and wants none otherwise.
    package var subject: String?
    /// `aud`: the only server that may accept it.
    package var audience: String
    /// `scope`, which RFC 7523 does not define. Google reads the requested scopes here and not in the form.
    package var scopes: [String]
    /// `iat`, on the receiver's clock if its difference from ours is known.
    package var issuedAt: WallTime
    /// `jti`: never used before, so that nobody can replay the assertion.
    package var id: String

    /// The time from `iat` to `exp`. It covers one exchange, and clock differences too small to be corrected.
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

    /// The bytes to sign (RFC 7515 §5.1): header and claims, each in base64url, joined by a dot.
    ///
    /// - Parameter keyID: `kid`; omitted if the receiver knows only one key.
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

    /// The complete JWT in compact form (RFC 7515 §7.1).
    package static func compact(_ signingInput: [UInt8], signature: [UInt8]) -> Secret {
        Secret(signingInput + [UInt8(ascii: ".")] + Base64.encodeURLSafe(signature))
    }

    /// A new id: 128 bits from the system's random source.
    package static func newID() -> String {
        var generator = SystemRandomNumberGenerator()
        let bytes = (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        return Base64.urlSafeText(bytes)
    }
}

/// The algorithm that signs a JWT (RFC 7518 §3.1). The raw values are those of the `alg` header.
package enum SigningAlgorithm: String, Sendable, CaseIterable {
    /// RSASSA-PKCS1-v1_5 with SHA-256; a key of 2048 bits at least (RFC 7518 §3.3).
    case rs256 = "RS256"
    /// ECDSA on P-256 with SHA-256.
    case es256 = "ES256"
}
