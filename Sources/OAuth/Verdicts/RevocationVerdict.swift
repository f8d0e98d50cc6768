/// What the provider did with a token it was asked to revoke (RFC 7009 §2.2).
package enum RevocationVerdict: Equatable, Sendable {
    /// The token is invalid now, or was already.
    case revoked
    /// The provider answered and did not revoke.
    case refused(VerdictReason)
    /// The provider refused the client, and did not look at the token: it must be taken to be alive.
    case clientRefused(VerdictReason)
    /// The provider names no revocation endpoint, or does not revoke this kind of token.
    case unsupported
    /// No answer, one that says nothing, or somebody else's in the provider's place: the token must be taken to be alive.
    case unreachable(VerdictReason)
}
