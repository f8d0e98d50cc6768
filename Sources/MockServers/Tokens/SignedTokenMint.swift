internal import TokenModel

/// Access tokens as signed JWTs (RFC 9068), which resource servers can check against `/oauth/jwks`.
package struct SignedTokenMint: TokenMint {
    private let key: SigningKey
    private let header: String

    package init(key: SigningKey) {
        self.key = key
        self.header = Base64URL.encode(
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
            let signed = "\(self.header).\(Base64URL.encode(try JSONText.encode(payload)))"
            return "\(signed).\(Base64URL.encode(try self.key.sign(signed)))"
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
