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
