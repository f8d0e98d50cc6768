package import OAuth
package import TokenModel

/// A provider as the refresh engine and the kill switch see it. It redeems refresh tokens, mints access tokens and
/// revokes tokens, with one client registration.
///
/// Every call returns a verdict: a token request slightly after ``answerTimeout`` at the latest, any other call within
/// ``timeout``. No call throws, and none logs a token.
/// Cancelling the calling task does not affect an exchange in progress: the provider may have rotated the refresh
/// token by then, and its response is the only copy of the new one. An implementation must keep that promise.
package protocol TokenEndpoint: Sendable {
    /// The issuer and the client of tokens from this endpoint, as far as known now. It must be compared with a
    /// record's binding before that record's tokens are sent.
    var binding: EndpointBinding { get }

    /// This endpoint, limited to one issuer. It sends a token only if the token endpoint still belongs to `issuer`,
    /// and nothing if the endpoint has changed or is unknown. Discovered endpoints may change between the comparison
    /// and the request.
    func sending(onlyTo issuer: TokenIssuer) -> any TokenEndpoint

    /// Finds the token endpoint, if it is unknown. Sends no token.
    func locate() async

    /// Has discovered metadata fetched again before its next use, unless it was fetched very recently.
    func doubt()

    /// How long a caller waits for tokens; at most 15 s.
    var timeout: Duration { get }

    /// The maximum duration of a token request, connecting included; at least ``timeout``, and at most 5 min. Until
    /// then the provider may still respond that it has rotated the refresh token.
    var answerTimeout: Duration { get }

    /// This endpoint, once for each proof of its client, in the order to try them: first the one accepted last. Never
    /// empty. If the provider refuses the client with one proof, the next can be tried at once: a refused client has
    /// spent nothing.
    var proofs: [any TokenEndpoint] { get }

    /// The secret of the first of ``proofs``; `nil` if that proof is not a secret.
    var proofSecret: Secret? { get }

    /// When the provider last accepted the first of ``proofs`` from this process; `nil` if it has not yet.
    var proofAcceptedAt: WallTime? { get }

    /// Whether the provider revokes tokens; `nil` while that is unknown.
    var revokes: Bool? { get }

    /// The number of ``proofs``.
    var proofCount: Int { get }

    /// Whether `value` is a secret of the client, and so not a token. Compared in constant time.
    func isClientSecret(_ value: Secret) -> Bool

    /// Redeems a refresh token for new tokens (RFC 6749 §6), once: no retry happens inside.
    ///
    /// - Parameters:
    ///   - scopes: the scopes to request; if empty, the parameter is left out, which means the scopes granted before.
    ///   - mayStillSend: called when the connection is established and the head is written, just before the first byte
    ///     of the form. If it returns `false`, the form is not sent, and the verdict is
    ///     ``OAuth/TokenVerdict/notSent(_:)``. Must not block.
    func redeem(
        _ refreshToken: Secret,
        scopes: [String],
        mayStillSend: @escaping @Sendable () -> Bool
    ) async -> TokenVerdict

    /// Requests an access token for the client itself (RFC 6749 §4.4), once: no retry happens inside. The verdict is
    /// what the response means for a mint, see ``TokenVerdict/ofMint``.
    ///
    /// - Parameters:
    ///   - scopes: the scopes to request; if empty, the parameter is left out.
    ///   - mayStillSend: as for ``redeem(_:scopes:mayStillSend:)``.
    func mint(scopes: [String], mayStillSend: @escaping @Sendable () -> Bool) async -> TokenVerdict

    /// Asks the provider to revoke a token (RFC 7009 §2.1), once.
    func revoke(_ token: Secret, kind: RevocableToken) async -> RevocationVerdict
}

extension TokenEndpoint {
    /// By default, the endpoint never changes.
    package func sending(onlyTo issuer: TokenIssuer) -> any TokenEndpoint { self }

    /// By default, the token endpoint is known.
    package func locate() async {}

    /// By default, nothing is discovered.
    package func doubt() {}

    package var proofCount: Int { self.proofs.count }

    /// By default, no exchange lasts longer than a caller waits.
    package var answerTimeout: Duration { self.timeout }

    /// By default, the client has one proof.
    package var proofs: [any TokenEndpoint] { [self] }

    /// By default, it is unknown.
    package var revokes: Bool? { nil }

    /// By default, the client has no secret.
    package var proofSecret: Secret? { nil }

    /// By default, the client has one proof, which needs no record of acceptance.
    package var proofAcceptedAt: WallTime? { nil }

    /// By default, the client has no secret.
    package func isClientSecret(_ value: Secret) -> Bool { false }
}

/// The issuer of a provider's tokens, and the client that they are issued to.
package struct EndpointBinding: Hashable, Sendable {
    /// The issuer according to the configuration: the token endpoint if that is named; otherwise the configured
    /// issuer, with the token endpoint of its metadata (RFC 8414) once that is known.
    package let issuer: TokenIssuer
    /// The client identifier (RFC 6749 §2.2).
    package let clientID: String

    package init(issuer: TokenIssuer, clientID: String) {
        self.issuer = issuer
        self.clientID = clientID
    }
}

/// The account whose tokens an exchange is about. It is for the log only, because an endpoint knows no accounts.
package enum ExchangeSubject {
    /// Set during a call of a ``TokenEndpoint``.
    package static let account = TaskLocal<AccountID?>(wrappedValue: nil)
}

/// The grant for which an access token is requested without a refresh token.
package enum MintGrant: Sendable {
    /// The client's own authority (RFC 6749 §4.4).
    case clientCredentials
    /// The resource owner's name and password (RFC 6749 §4.3).
    case password(username: Secret, password: Secret)
    /// An assertion of an issuer that the provider trusts (RFC 7523 §2.1), signed anew for each request.
    case jwtBearer(GrantAssertion)
}
