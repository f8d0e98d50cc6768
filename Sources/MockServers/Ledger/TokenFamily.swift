internal import TokenModel

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
