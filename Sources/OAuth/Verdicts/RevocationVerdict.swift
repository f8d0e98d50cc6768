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

/// What may be shown of a verdict: in logs and in the report of a kill.
extension RevocationVerdict {
    /// One word for the case.
    package var name: String {
        switch self {
        case .revoked: "revoked"
        case .refused: "refused"
        case .clientRefused: "client_refused"
        case .unsupported: "unsupported"
        case .unreachable: "unreachable"
        }
    }

    /// Why; `nil` where the case says it all.
    package var reason: VerdictReason? {
        switch self {
        case .revoked, .unsupported: nil
        case .refused(let reason), .clientRefused(let reason), .unreachable(let reason): reason
        }
    }
}
