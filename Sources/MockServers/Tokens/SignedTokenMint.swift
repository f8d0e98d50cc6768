internal import Crypto
internal import TextCoding
package import TokenModel

/// Access tokens as signed JWTs (RFC 9068), which resource servers can check against `/oauth/jwks`.
package struct SignedTokenMint: TokenMint {
    private let key: SigningKey
    private let header: String

    package init(key: SigningKey) {
        self.key = key
        self.header = Base64.urlSafeText(
            Array(#"{"alg":"ES256","kid":"\#(key.publicKey.keyID)","typ":"at+jwt"}"#.utf8)
        )
    }

    package func accessToken(for claims: AccessClaims) throws(GrantRefusal) -> String {
        do {
            let payload = Payload(
                iss: claims.issuer,
                sub: claims.account,
                client_id: ClientRegistration.id,
                scope: claims.scope,
                iat: claims.issuedAt.millisecondsSince1970 / 1_000,
                exp: claims.expiresAt.millisecondsSince1970 / 1_000,
                jti: self.opaqueToken("jti")
            )
            let signed = "\(self.header).\(Base64.urlSafeText(try JSONText.encode(payload)))"
            return "\(signed).\(Base64.urlSafeText(try self.key.sign(signed)))"
        } catch {
            throw GrantRefusal(.serverError, "the access token could not be signed")
        }
    }

    private struct Payload: Encodable {
        let iss: String
        let sub: String
        let client_id: String
        let scope: String?
        let iat: Int64
        let exp: Int64
        let jti: String
    }
}

/// The contents of an access token, if it is readable (RFC 9068 section 2.2).
package struct AccessClaims: Sendable {
    package let issuer: String
    package let account: String
    package let scope: String?
    package let issuedAt: WallTime
    package let expiresAt: WallTime
}

/// Makes token strings. No two calls return the same string.
package protocol TokenMint: Sendable {
    /// A new access token for `claims`. Throws `server_error` if it can't be signed.
    func accessToken(for claims: AccessClaims) throws(GrantRefusal) -> String

    /// A new opaque string for a refresh token or an authorization code. Only the provider can interpret it.
    func opaqueToken(_ prefix: String) -> String
}

extension TokenMint {
    /// 256 random bits after a prefix that names the kind of the string in a trace.
    package func opaqueToken(_ prefix: String) -> String {
        var generator = SystemRandomNumberGenerator()
        return
            "\(prefix)_\(Base64.urlSafeText((0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }))"
    }
}

/// Access tokens that carry no information for their holder.
package struct OpaqueTokenMint: TokenMint {
    package init() {}

    package func accessToken(for claims: AccessClaims) throws(GrantRefusal) -> String {
        self.opaqueToken("mat")
    }
}

/// The provider's ES256 key, generated at each start, and its public half as a JSON Web Key (RFC 7517).
package struct SigningKey: Sendable {
    private let key = P256.Signing.PrivateKey()

    package init() {}

    /// The public key, ready for a key set.
    package var publicKey: JSONWebKey {
        let point = self.key.publicKey.x963Representation.dropFirst()
        let x = Base64.urlSafeText(point.prefix(32))
        let y = Base64.urlSafeText(point.suffix(32))
        // RFC 7638: the thumbprint is over exactly these members in this order.
        let canonical = #"{"crv":"P-256","kty":"EC","x":"\#(x)","y":"\#(y)"}"#
        return JSONWebKey(
            keyType: "EC",
            use: "sig",
            algorithm: "ES256",
            curve: "P-256",
            keyID: Base64.urlSafeText(SHA256.hash(data: Array(canonical.utf8))),
            x: x,
            y: y
        )
    }

    /// The 64 bytes R ‖ S over `text` (RFC 7518 section 3.4).
    package func sign(_ text: String) throws -> [UInt8] {
        Array(try self.key.signature(for: Array(text.utf8)).rawRepresentation)
    }
}

/// One public P-256 key in the format of `/oauth/jwks`.
package struct JSONWebKey: Codable, Equatable, Sendable {
    package let keyType: String
    package let use: String
    package let algorithm: String
    package let curve: String
    package let keyID: String
    package let x: String
    package let y: String

    private enum CodingKeys: String, CodingKey {
        case keyType = "kty"
        case use
        case algorithm = "alg"
        case curve = "crv"
        case keyID = "kid"
        case x
        case y
    }
}
