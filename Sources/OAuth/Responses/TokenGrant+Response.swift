internal import TextCoding
internal import TokenModel

/// Why a successful response can't be used.
struct GrantFault: Error {
    let reason: VerdictReason
    /// The refresh token in that response, if there is one.
    var rotated: RotatedToken?
}

extension TokenGrant {
    /// Reads the tokens from the fields of a successful response (RFC 6749 §5.1).
    init(_ fields: [String: ResponseValue], rules: ResponseRules, now: WallTime) throws(GrantFault) {
        guard Self.isBearer(fields["token_type"], rules) else { throw Self.fault(.tokenTypeUnknown, fields) }
        guard case .string(let accessToken) = fields["access_token"], TokenSyntax.isAccessToken(accessToken) else {
            throw Self.fault(.accessTokenUnusable, fields)
        }
        self.init(
            accessToken: accessToken,
            refreshToken: try Self.refreshToken(fields["refresh_token"]),
            lifetime: TokenLifetime.ofAccessToken(accessToken, expiresIn: fields["expires_in"], now: now)
                ?? rules.defaultLifetime,
            refreshLifetime: TokenLifetime.ofRefreshToken(fields),
            scopes: Self.scopes(fields["scope"]),
            idToken: Self.idToken(fields["id_token"])
        )
    }

    /// The ID token. Anything but text counts as none: a refresh doesn't need it, and a sign-in that does finds it
    /// missing.
    private static func idToken(_ value: ResponseValue?) -> Secret? {
        guard case .string(let token) = value, !token.isEmpty else { return nil }
        return token
    }

    private static func fault(_ reason: VerdictReason, _ fields: [String: ResponseValue]) -> GrantFault {
        let refreshToken = try? Self.refreshToken(fields["refresh_token"])
        return GrantFault(
            reason: reason,
            rotated: refreshToken.map {
                RotatedToken(refreshToken: $0, refreshLifetime: TokenLifetime.ofRefreshToken(fields))
            }
        )
    }

    private static func isBearer(_ type: ResponseValue?, _ rules: ResponseRules) -> Bool {
        guard let type, type != .null else { return true }
        return type.asText.map { rules.bearerTokenTypes.contains($0.lowercased()) } ?? false
    }

    /// The new refresh token. Absent, `null` or empty means that the old one stays valid. A token with control
    /// characters is rejected, because it would not be sent back unchanged.
    private static func refreshToken(_ value: ResponseValue?) throws(GrantFault) -> Secret? {
        switch value {
        case nil, .null:
            return nil
        case .string(let token):
            let isClean = token.withUnredacted { token in
                token.indices.allSatisfy { token[$0] >= 0x20 && token[$0] != 0x7F }
            }
            guard isClean else { throw GrantFault(reason: .answerUnreadable) }
            return token.isEmpty ? nil : token
        case .number, .boolean, .nested:
            throw GrantFault(reason: .answerUnreadable)
        }
    }

    /// The words of `scope` (RFC 6749 §3.3), without those that are not valid scope words.
    private static func scopes(_ value: ResponseValue?) -> [String] {
        ScopeWord.words(of: value?.asText ?? "")
    }
}

/// Token lifetimes in the forms that providers send: missing, strings, zero, or a billion years.
enum TokenLifetime {
    static let shortest: Duration = .seconds(1)
    /// The limit for access tokens. Those that live longer are refreshed daily too.
    static let longest: Duration = .seconds(24 * 3600)
    /// The limit for refresh tokens: ten years. Longer than any refresh token lives, short enough for arithmetic.
    private static let longestOfRefreshToken: Duration = .seconds(3650 * 24 * 3600)

    /// The lifetime from `expires_in`, else from the `exp` of an access token that is a JWT (RFC 7519 §4.1.4), else
    /// `nil`.
    static func ofAccessToken(_ accessToken: Secret, expiresIn: ResponseValue?, now: WallTime) -> Duration? {
        if let seconds = expiresIn?.asNumber, seconds > 0 {
            return Self.duration(seconds, atMost: Self.longest)
        }
        if let expiry = Self.expiry(ofJWT: accessToken) {
            let seconds = expiry - Double(now.millisecondsSince1970) / 1000
            if seconds > 0 { return Self.duration(seconds, atMost: Self.longest) }
        }
        return nil
    }

    /// The lifetime from the first field, of the three names in use, with a positive value. Zero and less mean that no
    /// end is known (Keycloak sends 0).
    static func ofRefreshToken(_ fields: [String: ResponseValue]) -> Duration? {
        for name in ["refresh_token_expires_in", "refresh_expires_in", "x_refresh_token_expires_in"] {
            if let seconds = fields[name]?.asNumber, seconds > 0 {
                return Self.duration(seconds, atMost: Self.longestOfRefreshToken)
            }
        }
        return nil
    }

    private static func duration(_ seconds: Double, atMost longest: Duration) -> Duration {
        guard seconds < Double(longest.components.seconds) else { return longest }
        return max(.milliseconds(Int64(seconds * 1000)), Self.shortest)
    }

    /// The `exp` of a JWT in seconds since 1970. The signature is not verified: a wrong value only moves the next
    /// refresh.
    private static func expiry(ofJWT token: Secret) -> Double? {
        token.withUnredacted { token in
            let dots = token.indices.filter { token[$0] == UInt8(ascii: ".") }
            guard dots.count == 2, let payload = Base64.decodeURLSafe(token.extracting((dots[0] + 1)..<dots[1])),
                let claims = try? JSONReader.read(payload.span, members: ["exp"]),
                case .number(let expiry) = claims["exp"]
            else { return nil }
            return expiry
        }
    }
}

/// Rules for a provider's responses that the RFCs leave open.
package struct ResponseRules: Equatable, Sendable {
    /// The lifetime of an access token if neither `expires_in` nor the token itself gives one.
    package let defaultLifetime: Duration
    /// The `token_type` values that mean a bearer token, in lower case. RFC 6750 has `bearer`; Slack sends `bot` and
    /// `user`.
    package let bearerTokenTypes: Set<String>

    /// - Parameter defaultLifetime: Clamped to 1 s to 24 h.
    package init(defaultLifetime: Duration = .seconds(3600), bearerTokenTypes: Set<String> = ["bearer", "bot", "user"])
    {
        self.defaultLifetime = min(max(defaultLifetime, TokenLifetime.shortest), TokenLifetime.longest)
        self.bearerTokenTypes = bearerTokenTypes
    }
}
