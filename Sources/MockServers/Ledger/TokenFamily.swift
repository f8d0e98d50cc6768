package import TokenModel

/// One authorization: all tokens that descend from the same sign-in, import or mint. They are revoked together.
struct TokenFamily: Sendable {
    let account: String

    /// The granted scopes, separated by spaces. Nil if none were requested: then a client may ask for any scope.
    let scope: String?

    /// When the whole family was revoked.
    var revokedAt: Moment?

    /// The access tokens that the next refresh revokes. Empty unless ``TokenRules/rotationKillsAccess`` is set.
    var rotatingAccessTokens: [String] = []
}

/// The ledger's record of one refresh token.
struct RefreshTokenEntry: Sendable {
    /// Index of the family it belongs to.
    let family: Int
    let issuedAt: Moment

    /// When the token was used up. It stays nil if tokens are not rotated.
    var spentAt: Moment?

    /// The number of token requests that carried the token, whatever their outcome.
    var presentations = 0
}

/// The ledger's record of one access token. Entries are never deleted, so that the late use of a token can be told
/// from the use of an invented one.
struct AccessTokenEntry: Sendable {
    /// Index of the family it belongs to.
    let family: Int
    let issuedAt: Moment
    var expiresAt: Moment

    /// When this token alone was revoked, by a revocation request or by a rotation. Its family may be revoked as well.
    var revokedAt: Moment?

    /// The state at `moment`. A token that is both expired and revoked counts as `revoked`.
    func state(at moment: Moment, familyRevokedAt: Moment?) -> AccessTokenState {
        for revokedAt in [self.revokedAt, familyRevokedAt] {
            if let revokedAt, revokedAt.boot <= moment.boot { return .revoked }
        }
        return self.expiresAt.boot <= moment.boot ? .expired : .live
    }
}

/// Whether the API accepts an access token of this provider.
package enum AccessTokenState: String, Sendable, Codable {
    case live
    case expired
    case revoked
}

/// The tokens that a client gets for a successful grant (RFC 6749 section 5.1).
package struct IssuedTokens: Equatable, Sendable {
    package let account: String
    package let accessToken: String

    /// Nil if the client keeps its refresh token, and for accounts that mint.
    package let refreshToken: String?

    /// Whole seconds, rounded down, so that the token lives at least that long.
    package let expiresIn: Int64

    /// Separated by spaces; nil if no scope was requested.
    package let scope: String?
}

/// The description of a live token for introspection (RFC 7662 section 2.2).
package struct TokenDescription: Equatable, Sendable {
    package let account: String

    /// Separated by spaces; nil if no scope was requested.
    package let scope: String?
    package let issuedAt: Moment

    /// Nil for refresh tokens, which end only by use or revocation.
    package let expiresAt: Moment?
}

/// Why the provider refuses a request, in the terms of RFC 6749 sections 4.1.2.1 and 5.2, RFC 7009, RFC 8628 section 3.5
/// and RFC 9101 section 6.2. Two refusals are equal if their codes are equal.
package struct GrantRefusal: Error, Equatable, Sendable {
    /// The `error` member of the response. A test can make the provider answer with any word.
    package struct Code: RawRepresentable, Hashable, Sendable {
        package let rawValue: String

        package init(rawValue: String) { self.rawValue = rawValue }

        package static let invalidRequest = Code(rawValue: "invalid_request")
        package static let invalidClient = Code(rawValue: "invalid_client")
        package static let invalidGrant = Code(rawValue: "invalid_grant")
        package static let invalidScope = Code(rawValue: "invalid_scope")
        package static let invalidRequestURI = Code(rawValue: "invalid_request_uri")
        package static let unsupportedGrantType = Code(rawValue: "unsupported_grant_type")
        package static let unsupportedResponseType = Code(rawValue: "unsupported_response_type")
        package static let accessDenied = Code(rawValue: "access_denied")
        package static let authorizationPending = Code(rawValue: "authorization_pending")
        package static let slowDown = Code(rawValue: "slow_down")
        package static let expiredToken = Code(rawValue: "expired_token")
        package static let serverError = Code(rawValue: "server_error")
    }

    package let code: Code

    /// The `error_description` member of the response, for people. It never contains a token.
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package static func == (left: Self, right: Self) -> Bool { left.code == right.code }
}

/// How the provider treats the tokens it issues.
package struct TokenRules: Sendable {
    /// The lifetime of an access token. Responses state it in whole seconds, rounded down.
    package var accessLifetime: Duration

    /// Each refresh token works once, and its use yields the next one.
    package var rotates: Bool

    /// Each refresh revokes the older access tokens of the same family, as GitHub does.
    package var rotationKillsAccess: Bool

    /// A second use of a rotated refresh token revokes the whole family (RFC 9700 section 4.14.2).
    package var detectsReuse: Bool

    /// How long a rotated refresh token still yields a new pair after its first use. Zero disables the grace period.
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
