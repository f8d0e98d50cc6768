package import TokenModel

/// What one exchange with a token endpoint came to, as far as one answer can tell.
///
/// "Superseded" is not among them: only the store knows whether a later generation exists.
package enum TokenVerdict: Equatable, Sendable {
    /// The provider issued tokens (RFC 6749 §5.1). To be committed whatever else happened meanwhile.
    case success(TokenGrant)
    /// The provider says that all went well and named a refresh token, but no access token that can be used. To be
    /// committed like a success; nobody is served by it.
    case rotated(RotatedToken, VerdictReason)
    /// The refresh token is dead (`invalid_grant` and its kin): somebody must sign in again.
    case dead(VerdictReason)
    /// The provider refuses Martlet's own client; its accounts stay alive.
    case config(VerdictReason)
    /// The provider refuses this account's grant or scopes; its other accounts go on.
    case accountConfig(VerdictReason)
    /// The provider asks to wait; between 1 s and 5 min, whatever it wrote.
    case throttled(retryAfter: Duration)
    /// Nothing of the form left this process: the refresh token is certainly unspent.
    case notSent(VerdictReason)
    /// The form was handed over and no usable answer came back: the provider may have rotated the refresh token.
    case ambiguous(VerdictReason)
    /// The provider met another use of the same refresh token and asks to try again.
    case conflict(VerdictReason)
    /// The provider said no and gave no reason that would tell what to do: the refresh token may be dead, or the client's
    /// secret wrong. Never the end of a grant.
    case refused(VerdictReason)
    /// Somebody else answered in the provider's place: a proxy, a firewall, a host that was moved. Nothing is known of the
    /// grant.
    case notProvider(VerdictReason)
}

extension TokenVerdict {
    /// What it means where no refresh token is at stake: nothing can be dead, and a refresh token that comes along is of
    /// no use (RFC 6749 §4.4.3).
    package var ofMint: TokenVerdict {
        switch self {
        case .dead(let reason): .refused(reason)
        case .rotated(_, let reason): .ambiguous(reason)
        default: self
        }
    }
}

/// The successor of a refresh token that came in an answer without a usable access token.
///
/// The provider has rotated: the old refresh token may be dead, and this one is the grant's only copy.
package struct RotatedToken: Equatable, Sendable {
    package let refreshToken: Secret
    /// How long it is good for, counted from receipt, where the provider says.
    package let refreshLifetime: Duration?

    package init(refreshToken: Secret, refreshLifetime: Duration? = nil) {
        self.refreshToken = refreshToken
        self.refreshLifetime = refreshLifetime
    }
}

/// The tokens of a successful token answer (RFC 6749 §5.1), parsed and clamped.
package struct TokenGrant: Equatable, Sendable {
    /// Printable ASCII without a space, so that it may stand in a header field.
    package let accessToken: Secret
    /// `nil` where the provider sent none: the old one stays good (RFC 6749 §6).
    package let refreshToken: Secret?
    /// How long the access token is good for, counted from receipt; above zero and at most 24 h.
    package let lifetime: Duration
    /// How long the refresh token is good for, counted from receipt, where the provider says.
    package let refreshLifetime: Duration?
    /// What was granted; empty where the provider did not say (then it is what was asked for).
    package let scopes: [String]

    package init(
        accessToken: Secret,
        refreshToken: Secret?,
        lifetime: Duration,
        refreshLifetime: Duration? = nil,
        scopes: [String] = []
    ) {
        self.accessToken = accessToken
        self.refreshToken = refreshToken
        self.lifetime = lifetime
        self.refreshLifetime = refreshLifetime
        self.scopes = scopes
    }
}

/// What may be shown of a verdict: in logs, metrics and to operators.
extension TokenVerdict {
    /// One word for the case; a label of metrics.
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

    /// Why; `nil` for a success and where the case says it all.
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
