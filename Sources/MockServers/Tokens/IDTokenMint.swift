internal import TextCoding
internal import TokenModel

/// ID tokens (OpenID Connect Core section 2), signed with the key of `/oauth/jwks`.
struct IDTokenMint: Sendable {
    private let key: SigningKey
    private let header: String
    private static let unsignedHeader = Base64.urlSafeText(Array(#"{"alg":"none","typ":"JWT"}"#.utf8))

    /// How long an ID token is valid.
    private static let lifetime: Duration = .seconds(300)

    init(key: SigningKey) {
        self.key = key
        self.header = Base64.urlSafeText(
            Array(#"{"alg":"ES256","kid":"\#(key.publicKey.keyID)","typ":"JWT"}"#.utf8)
        )
    }

    /// A token for `signIn`, with the subject and the flaw of `rules`. Nil if the sign-in gets none.
    ///
    /// - Parameter scope: the granted scope. Only one with the word `openid` yields an ID token.
    func token(
        for signIn: ApprovedSignIn,
        scope: String?,
        issuer: String,
        under rules: SignInRules,
        at now: Moment
    ) throws(GrantRefusal) -> String? {
        guard scope?.split(separator: " ").contains("openid") == true, rules.idToken != .missing else { return nil }
        let delay: Duration = rules.idToken == .expired ? .seconds(-3_600) : .zero
        let issuedAt = now.wall.advanced(by: delay)
        let claims = Claims(
            iss: rules.idToken == .wrongIssuer ? SignInRules.wrongIssuer : issuer,
            sub: rules.subject ?? signIn.account,
            aud: rules.idToken == .wrongAudience ? SignInRules.wrongValue : ClientRegistration.id,
            exp: issuedAt.advanced(by: Self.lifetime).wholeSeconds,
            iat: issuedAt.wholeSeconds,
            auth_time: signIn.at.wall.advanced(by: delay).wholeSeconds,
            nonce: rules.idToken == .wrongNonce ? SignInRules.wrongValue : signIn.nonce
        )
        do {
            return try self.sign(claims, rules.idToken)
        } catch {
            throw GrantRefusal(.serverError, "the ID token could not be signed")
        }
    }

    private func sign(_ claims: Claims, _ flaw: SignInRules.IDTokenFlaw?) throws -> String {
        let payload = Base64.urlSafeText(try JSONText.encode(claims))
        if flaw == .unsigned {
            return "\(Self.unsignedHeader).\(payload)."
        }
        let key = flaw == .foreignKey ? SigningKey() : self.key
        let signed = "\(self.header).\(payload)"
        return "\(signed).\(Base64.urlSafeText(try key.sign(signed)))"
    }

    private struct Claims: Encodable {
        let iss: String
        let sub: String
        let aud: String
        let exp: Int64
        let iat: Int64
        let auth_time: Int64
        let nonce: String?
    }
}

extension WallTime {
    fileprivate var wholeSeconds: Int64 { self.millisecondsSince1970 / 1_000 }
}
