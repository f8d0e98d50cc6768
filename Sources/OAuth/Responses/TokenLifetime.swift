internal import TokenModel

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
