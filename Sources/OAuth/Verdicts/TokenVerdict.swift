package import TokenModel

/// The result of one exchange with a token endpoint, as far as one response can show.
///
/// "Superseded" is not a case here: only the store knows whether a later generation exists.
package enum TokenVerdict: Equatable, Sendable {
    /// The provider issued tokens (RFC 6749 §5.1). They must be committed whatever else happened meanwhile.
    case success(TokenGrant)
    /// The provider reported success with a refresh token but without a usable access token. The refresh token must be
    /// committed like a success, but no caller can be served with it.
    case rotated(RotatedToken, VerdictReason)
    /// The refresh token is dead (`invalid_grant` and similar codes). Someone must sign in again.
    case dead(VerdictReason)
    /// The provider rejects Martlet's own client. The accounts stay alive.
    case config(VerdictReason)
    /// The provider rejects this account's grant or scopes. Its other accounts continue.
    case accountConfig(VerdictReason)
    /// The provider asks Martlet to wait. The time is clamped to 1 s to 5 min.
    case throttled(retryAfter: Duration)
    /// No part of the form left this process, so the refresh token is certainly unspent.
    case notSent(VerdictReason)
    /// The form was handed over and no usable response arrived. The provider may have rotated the refresh token.
    case ambiguous(VerdictReason)
    /// The provider saw another use of the same refresh token and asks for a retry.
    case conflict(VerdictReason)
    /// The provider refused without a reason that shows what to do: the refresh token may be dead, or the client secret
    /// wrong. This never ends a grant.
    case refused(VerdictReason)
    /// Another server responded in the provider's place: a proxy, a firewall, a host that has moved. Nothing is known
    /// about the grant.
    case notProvider(VerdictReason)
}

extension TokenVerdict {
    /// The verdict for a request without a refresh token. Such a request can't find a grant dead, and a refresh token
    /// in its response is useless (RFC 6749 §4.4.3).
    package var ofMint: TokenVerdict {
        switch self {
        case .dead(let reason): .refused(reason)
        case .rotated(_, let reason): .ambiguous(reason)
        default: self
        }
    }
}

/// The new refresh token in a response without a usable access token.
///
/// The provider has rotated: the old refresh token may be dead, and this is the only copy of the new one.
package struct RotatedToken: Equatable, Sendable {
    package let refreshToken: Secret
    /// The lifetime, counted from receipt; `nil` if the provider does not say.
    package let refreshLifetime: Duration?

    package init(refreshToken: Secret, refreshLifetime: Duration? = nil) {
        self.refreshToken = refreshToken
        self.refreshLifetime = refreshLifetime
    }
}

/// The tokens of a successful token response (RFC 6749 §5.1), parsed and clamped.
package struct TokenGrant: Equatable, Sendable {
    /// The access token: printable ASCII without a space, so that it is safe in a header field.
    package let accessToken: Secret
    /// The new refresh token; `nil` if the provider sent none, and the old one stays valid (RFC 6749 §6).
    package let refreshToken: Secret?
    /// The lifetime of the access token, counted from receipt; above zero and at most 24 h.
    package let lifetime: Duration
    /// The lifetime of the refresh token, counted from receipt; `nil` if the provider does not say.
    package let refreshLifetime: Duration?
    /// The granted scopes; empty if the provider did not say, which means the requested ones.
    package let scopes: [String]
    /// The ID token (OpenID Connect Core 1.0 §3.1.3.3), not validated; `nil` if the provider sent none.
    package let idToken: Secret?

    package init(
        accessToken: Secret,
        refreshToken: Secret?,
        lifetime: Duration,
        refreshLifetime: Duration? = nil,
        scopes: [String] = [],
        idToken: Secret? = nil
    ) {
        self.accessToken = accessToken
        self.refreshToken = refreshToken
        self.lifetime = lifetime
        self.refreshLifetime = refreshLifetime
        self.scopes = scopes
        self.idToken = idToken
    }
}

/// The parts of a verdict that may be shown in logs, metrics and to operators.
extension TokenVerdict {
    /// The case as one word, for the label of a metric.
    package var name: String {
        switch self {
        case .success: "success"
        case .rotated: "rotated"
        case .dead: "dead"
        case .config: "config"
        case .accountConfig: "account_config"
        case .throttled: "throttled"
        case .notSent: "not_sent"
        case .ambiguous: "ambiguous"
        case .conflict: "conflict"
        case .refused: "refused"
        case .notProvider: "not_provider"
        }
    }

    /// The reason; `nil` for a success, and if the case says everything.
    package var reason: VerdictReason? {
        switch self {
        case .success, .throttled: nil
        case .rotated(_, let reason), .dead(let reason), .config(let reason), .accountConfig(let reason),
            .notSent(let reason), .ambiguous(let reason), .conflict(let reason), .refused(let reason),
            .notProvider(let reason):
            reason
        }
    }
}

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
