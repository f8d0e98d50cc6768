package import OAuth
package import TokenModel

/// A provider as the refresh engine and the kill switch see it: where refresh tokens are redeemed, access tokens minted
/// and tokens revoked, with one client registration.
///
/// All calls always come back with a verdict, token requests within ``answerTimeout`` and a little, others within
/// ``timeout``; they throw nothing and log no token.
/// No cancellation of the calling task touches an exchange that has begun: a provider may have rotated the refresh
/// token by then, and its answer is the only copy. An implementation must keep that promise.
package protocol TokenEndpoint: Sendable {
    /// Whom tokens from here belong to, as far as that is known now. Compare it with a record's before sending that record's
    /// tokens.
    var binding: EndpointBinding { get }

    /// This endpoint, which sends tokens only where `issuer` has its token endpoint, and nothing where that is elsewhere by now
    /// or not known: what is discovered may change between the comparison and the sending.
    func sending(onlyTo issuer: TokenIssuer) -> any TokenEndpoint

    /// Finds out where tokens are asked for, where that is not known. Sends no token.
    func locate() async

    /// Has what was discovered found out anew before its next use, if that is not too soon.
    func doubt()

    /// How long a caller waits for tokens; at most 15 s.
    var timeout: Duration { get }

    /// The longest a token request lasts, connecting included; at least ``timeout``, and at most 5 min. Until it is over the
    /// provider may answer that it has rotated the refresh token.
    var answerTimeout: Duration { get }

    /// This endpoint once for each thing that its client may prove itself by, in the order to try them: first what worked
    /// last. Never empty. Where the provider refuses the client with one, the next may be asked at once: a client that
    /// was refused has spent nothing.
    var proofs: [any TokenEndpoint] { get }

    /// The secret that the first of ``proofs`` is; `nil` where that is none.
    var proofSecret: Secret? { get }

    /// When the provider took the first of ``proofs`` from this process last; `nil`: it has not yet.
    var proofAcceptedAt: WallTime? { get }

    /// Whether it revokes tokens; `nil` while nobody knows.
    var revokes: Bool? { get }

    /// How many such things there are.
    var proofCount: Int { get }

    /// Whether `value` is a secret that its client proves itself by, and so no token of anybody's. Compared in constant time.
    func isClientSecret(_ value: Secret) -> Bool

    /// Redeems a refresh token for new tokens (RFC 6749 §6), once: no retry happens inside.
    ///
    /// - Parameters:
    ///   - scopes: What to ask for; empty leaves the parameter out, which means what was granted before.
    ///   - mayStillSend: Asked when the connection stands and the head is written, just before the first byte of the
    ///     form: `false` sends nothing, and the verdict is ``OAuth/TokenVerdict/notSent(_:)``. Must not block.
    func redeem(
        _ refreshToken: Secret,
        scopes: [String],
        mayStillSend: @escaping @Sendable () -> Bool
    ) async -> TokenVerdict

    /// Has an access token minted in the client's own name (RFC 6749 §4.4), once: no retry happens inside. Comes back
    /// with what the answer means to a mint, see ``TokenVerdict/ofMint``.
    ///
    /// - Parameters:
    ///   - scopes: What to ask for; empty leaves the parameter out.
    ///   - mayStillSend: As for ``redeem(_:scopes:mayStillSend:)``.
    func mint(scopes: [String], mayStillSend: @escaping @Sendable () -> Bool) async -> TokenVerdict

    /// Asks the provider to revoke a token (RFC 7009 §2.1), once.
    func revoke(_ token: Secret, kind: RevocableToken) async -> RevocationVerdict
}

extension TokenEndpoint {
    /// One whose place is no other ever.
    package func sending(onlyTo issuer: TokenIssuer) -> any TokenEndpoint { self }

    /// Nothing is to be found out.
    package func locate() async {}

    /// Nothing was.
    package func doubt() {}

    package var proofCount: Int { self.proofs.count }

    /// A provider that nobody waits for longer than for its caller.
    package var answerTimeout: Duration { self.timeout }

    /// A client with one proof.
    package var proofs: [any TokenEndpoint] { [self] }

    /// Nobody knows.
    package var revokes: Bool? { nil }

    /// A client without a secret.
    package var proofSecret: Secret? { nil }

    /// A client with one proof needs no memory.
    package var proofAcceptedAt: WallTime? { nil }

    /// A client without a secret.
    package func isClientSecret(_ value: Secret) -> Bool { false }
}

/// Who issues tokens of a provider, and for which client.
package struct EndpointBinding: Hashable, Sendable {
    /// By the configuration: the token endpoint where that is named, else the issuer, with the token endpoint that it has
    /// named (RFC 8414) once it has.
    package let issuer: TokenIssuer
    /// The client identifier (RFC 6749 §2.2).
    package let clientID: String

    package init(issuer: TokenIssuer, clientID: String) {
        self.issuer = issuer
        self.clientID = clientID
    }
}
