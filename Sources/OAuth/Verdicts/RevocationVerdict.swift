/// What the provider did with a token that it was asked to revoke (RFC 7009 §2.2).
package enum RevocationVerdict: Equatable, Sendable {
    /// The token is invalid now, or was already.
    case revoked
    /// The provider responded and did not revoke the token.
    case refused(VerdictReason)
    /// The provider rejected the client and did not look at the token, which must be assumed to be alive.
    case clientRefused(VerdictReason)
    /// The provider names no revocation endpoint, or does not revoke this kind of token.
    case unsupported
    /// No response, an inconclusive one, or one of another server in the provider's place. The token must be assumed to
    /// be alive.
    case unreachable(VerdictReason)
}

/// The parts of a verdict that may be shown, in logs and in the report of a kill.
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

    /// The reason; `nil` if the case says everything.
    package var reason: VerdictReason? {
        switch self {
        case .revoked, .unsupported: nil
        case .refused(let reason), .clientRefused(let reason), .unreachable(let reason): reason
        }
    }
}
