internal import TokenModel

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
