internal import TokenModel

/// Why an answer that says yes is of no use.
struct GrantFault: Error {
    let reason: VerdictReason
    /// The refresh token that came along all the same.
    var rotated: RotatedToken?
}

extension TokenGrant {
    /// Takes the tokens out of the members of a successful answer (RFC 6749 §5.1).
    init(_ fields: [String: ResponseValue], rules: ResponseRules, now: WallTime) throws(GrantFault) {
        guard Self.isBearer(fields["token_type"], rules) else { throw Self.fault(.tokenTypeUnknown, fields) }
        guard case .string(let accessToken) = fields["access_token"], Self.fitsHeader(accessToken) else {
            throw Self.fault(.accessTokenUnusable, fields)
        }
        self.init(
            accessToken: accessToken,
            refreshToken: try Self.refreshToken(fields["refresh_token"]),
            lifetime: TokenLifetime.ofAccessToken(accessToken, expiresIn: fields["expires_in"], now: now)
                ?? rules.defaultLifetime,
            refreshLifetime: TokenLifetime.ofRefreshToken(fields),
            scopes: Self.scopes(fields["scope"])
        )
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

    /// Printable ASCII without a space: can neither end a header field nor begin another.
    private static func fitsHeader(_ token: Secret) -> Bool {
        !token.isEmpty
            && token.withUnredacted { token in token.indices.allSatisfy { (0x21...0x7E).contains(token[$0]) } }
    }

    /// An absent, null or empty one means: keep the old. One with control characters would not come back as it was sent.
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

    /// The words of `scope` (RFC 6749 §3.3); anything that is no scope word is left out.
    private static func scopes(_ value: ResponseValue?) -> [String] {
        ScopeWord.words(of: value?.asText ?? "")
    }
}

/// How long tokens are good for, out of what providers write about it: nothing, strings, zero, or a billion years.
enum TokenLifetime {
    static let shortest: Duration = .seconds(1)
    /// Longer ones are refreshed daily, too.
    static let longest: Duration = .seconds(24 * 3600)
    /// Ten years: longer than any refresh token, short enough for arithmetic.
    private static let longestOfRefreshToken: Duration = .seconds(3650 * 24 * 3600)

    /// `expires_in`, else the `exp` of an access token that is a JWT (RFC 7519 §4.1.4), else `nil`.
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

    /// The first of the names in use that says something; zero and less mean "no end known" (Keycloak's 0).
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

    /// Seconds since 1970. The signature is not looked at: a wrong value only moves the next refresh.
    private static func expiry(ofJWT token: Secret) -> Double? {
        token.withUnredacted { token in
            let dots = token.indices.filter { token[$0] == UInt8(ascii: ".") }
            guard dots.count == 2, let payload = Base64.decodeURLSafe(token, from: dots[0] + 1, to: dots[1]),
                let claims = try? JSONReader.read(payload.span, members: ["exp"]),
                case .number(let expiry) = claims["exp"]
            else { return nil }
            return expiry
        }
    }
}

/// What a provider's answers are measured by, beyond the RFCs.
package struct ResponseRules: Equatable, Sendable {
    /// The lifetime of an access token when neither `expires_in` nor the token itself names one.
    package let defaultLifetime: Duration
    /// The `token_type`s that mean a bearer token here, in lower case; RFC 6750 has `bearer`, Slack says `bot` and `user`.
    package let bearerTokenTypes: Set<String>

    /// - Parameter defaultLifetime: Held to between 1 s and 24 h.
    package init(defaultLifetime: Duration = .seconds(3600), bearerTokenTypes: Set<String> = ["bearer", "bot", "user"])
    {
        self.defaultLifetime = min(max(defaultLifetime, TokenLifetime.shortest), TokenLifetime.longest)
        self.bearerTokenTypes = bearerTokenTypes
    }
}
