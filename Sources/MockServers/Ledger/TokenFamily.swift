package import TokenModel

/// One authorization: everything that descends from the same sign-in, import or mint, and dies together.
struct TokenFamily: Sendable {
    let account: String

    /// The scopes granted, space-separated; nil when nothing was said and anything may be asked for.
    let scope: String?

    /// When the whole family was revoked.
    var revokedAt: Moment?

    /// The access tokens that the next refresh kills; kept only where refreshes do.
    var rotatingAccessTokens: [String] = []
}

/// What the ledger knows of one refresh token.
struct RefreshTokenEntry: Sendable {
    /// Index of the family it belongs to.
    let family: Int
    let issuedAt: Moment

    /// When it was used up; stays nil where tokens are not rotated.
    var spentAt: Moment?

    /// How often a token request carried it, whatever came of the request.
    var presentations = 0
}

/// What the ledger knows of one access token. Nothing is ever forgotten, so that a late use can be told from a
/// made-up token.
struct AccessTokenEntry: Sendable {
    /// Index of the family it belongs to.
    let family: Int
    let issuedAt: Moment
    var expiresAt: Moment

    /// When this token alone was revoked, by itself or by a rotation; its family may have been revoked besides.
    var revokedAt: Moment?

    /// Revocation is the stronger statement: a token that is both is `revoked`.
    func state(at moment: Moment, familyRevokedAt: Moment?) -> AccessTokenState {
        for revokedAt in [self.revokedAt, familyRevokedAt] {
            if let revokedAt, revokedAt.boot <= moment.boot { return .revoked }
        }
        return self.expiresAt.boot <= moment.boot ? .expired : .live
    }
}

/// Whether an access token of this provider opens the API.
package enum AccessTokenState: String, Sendable, Codable {
    case live
    case expired
    case revoked
}

/// What a client gets for a good grant (RFC 6749 section 5.1).
package struct IssuedTokens: Equatable, Sendable {
    package let account: String
    package let accessToken: String

    /// Nil where the client keeps the one it has, and for accounts that mint.
    package let refreshToken: String?

    /// Whole seconds, rounded down, so that the token lives at least that long.
    package let expiresIn: Int64

    /// Space-separated; nil where nothing was said.
    package let scope: String?
}

/// What introspection says about a live token (RFC 7662 section 2.2).
package struct TokenDescription: Equatable, Sendable {
    package let account: String

    /// Space-separated; nil where nothing was said.
    package let scope: String?
    package let issuedAt: Moment

    /// Nil for refresh tokens, which end only by use or revocation.
    package let expiresAt: Moment?
}

/// Why the provider does not do what a client asked, in the words of RFC 6749 section 5.2, RFC 7009 and RFC 8628
/// section 3.5. Two refusals are equal when their codes are.
package struct GrantRefusal: Error, Equatable, Sendable {
    /// The `error` of the answer.
    package enum Code: String, Sendable, CaseIterable {
        case invalidRequest = "invalid_request"
        case invalidClient = "invalid_client"
        case invalidGrant = "invalid_grant"
        case invalidScope = "invalid_scope"
        case unsupportedGrantType = "unsupported_grant_type"
        case unsupportedResponseType = "unsupported_response_type"
        case authorizationPending = "authorization_pending"
        case slowDown = "slow_down"
        case expiredToken = "expired_token"
        case serverError = "server_error"
    }

    package let code: Code

    /// The `error_description`: for whoever reads the exchange; never a token.
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package static func == (left: Self, right: Self) -> Bool { left.code == right.code }
}

/// How the provider treats the tokens it issues.
package struct TokenRules: Sendable {
    /// How long an access token lives; answers say it in whole seconds, rounded down.
    package var accessLifetime: Duration

    /// Each refresh token works once and its use yields the next one.
    package var rotates: Bool

    /// Each refresh kills the older access tokens of the same family, as GitHub does.
    package var rotationKillsAccess: Bool

    /// A second use of a rotated refresh token revokes the whole family (RFC 9700 section 4.14.2).
    package var detectsReuse: Bool

    /// For how long after its first use a rotated refresh token still yields a new pair; zero for never.
    package var grace: Duration

    package init(
        accessLifetime: Duration = .seconds(60),
        rotates: Bool = false,
        rotationKillsAccess: Bool = false,
        detectsReuse: Bool = false,
        grace: Duration = .zero
    ) {
        self.accessLifetime = accessLifetime
        self.rotates = rotates
        self.rotationKillsAccess = rotationKillsAccess
        self.detectsReuse = detectsReuse
        self.grace = grace
    }
}
