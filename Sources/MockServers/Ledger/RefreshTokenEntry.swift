internal import TokenModel

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
