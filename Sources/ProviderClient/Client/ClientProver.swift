package import OAuth
internal import Synchronization
internal import TokenModel

/// Puts a client's proofs into requests, and remembers which of them was taken last.
final class ClientProver: Sendable {
    private let client: RegisteredClient
    private let accepted = Mutex<(proof: Int, at: WallTime)?>(nil)

    init(_ client: RegisteredClient) { self.client = client }

    /// The proofs by number, in the order to try them: the one that worked last, then the others as they are configured.
    var order: [Int] {
        let first = self.accepted.withLock { $0?.proof } ?? 0
        return [first] + self.client.proofs.indices.filter { $0 != first }
    }

    /// When one was taken last; `nil`: none was.
    var acceptedAt: WallTime? { self.accepted.withLock { $0?.at } }

    /// The secret that a proof is; `nil` for what is none.
    func secret(_ proof: Int) -> Secret? {
        guard self.client.proofs.indices.contains(proof) else { return nil }
        switch self.client.proofs[proof] {
        case .constant(.clientSecretBasic(let secret)), .constant(.clientSecretPost(let secret)): return secret
        case .constant, .signed: return nil
        }
    }

    /// Whether there is more than one.
    var hasChoice: Bool { self.client.proofs.count > 1 }

    /// Whether some are signed, so that the token endpoint must be known: they are worth something there.
    var signs: Bool {
        self.client.proofs.contains { if case .signed = $0 { true } else { false } }
    }

    /// Whether it is one of the client's secrets.
    func isSecret(_ value: Secret) -> Bool {
        self.client.proofs.indices.contains { self.secret($0) == value }
    }

    /// The provider took this one.
    ///
    /// - Returns: whether another one was preferred so far.
    func worked(_ proof: Int, at now: WallTime) -> Bool {
        self.accepted.withLock { accepted in
            defer { accepted = (proof, now) }
            return (accepted?.proof ?? 0) != proof
        }
    }

    /// A revocation endpoint, and whose it is.
    struct RevocationPlace: Equatable {
        let endpoint: ProviderURL
        let tokenEndpoint: ProviderURL
        /// `nil` where nobody has said.
        let issuer: String?
    }

    /// Whom a signed proof is for.
    enum Audience: Equatable {
        /// Whom the configuration names for token requests, else the token endpoint.
        case tokens(ProviderURL)
        /// Whom it names for revocations, else as for tokens; but where the endpoints are of two origins, the issuer. A
        /// provider that lies could name the token endpoint of another, and take what its own revocation endpoint is shown there.
        case revocation(RevocationPlace)
        /// This URL, whatever is configured.
        case own(ProviderURL)
    }

    /// Whom a proof is signed for; `nil` where it is not signed.
    func audience(_ proof: Int, _ audience: Audience) -> String? {
        guard self.client.proofs.indices.contains(proof),
            case .signed(_, let named, let namedForRevocation) = self.client.proofs[proof]
        else { return nil }
        return switch audience {
        case .tokens(let endpoint): named ?? endpoint.text
        case .revocation(let place):
            namedForRevocation ?? named
                ?? (place.endpoint.origin == place.tokenEndpoint.origin
                    ? place.tokenEndpoint.text : place.issuer ?? place.endpoint.text)
        case .own(let endpoint): endpoint.text
        }
    }

    /// What stands in one request; `nil` where it could not be signed.
    ///
    /// - Parameter now: by the provider's clock.
    func registration(_ proof: Int, for audience: Audience, now: WallTime) -> ClientRegistration? {
        let clientID = self.client.clientID
        guard self.client.proofs.indices.contains(proof) else { return nil }
        switch self.client.proofs[proof] {
        case .constant(let authentication):
            return ClientRegistration(clientID: clientID, authentication: authentication)
        case .signed(let key, _, _):
            guard let audience = self.audience(proof, audience) else { return nil }
            let assertion = Assertion(
                issuer: clientID,
                subject: clientID,
                audience: audience,
                issuedAt: now,
                id: Assertion.newID()
            )
            return key.sign(assertion).map {
                ClientRegistration(clientID: clientID, authentication: .clientAssertion($0))
            }
        }
    }
}

/// One thing that the client may prove itself to a provider by (RFC 6749 §2.3).
package enum ClientProof: Sendable {
    /// The same in every request: a secret, the connection's certificate, or nothing.
    case constant(ClientRegistration.Authentication)
    /// `private_key_jwt`: an assertion, signed anew for each request (RFC 7523 §2.2).
    ///
    /// - audience: whom it is for; `nil`: the token endpoint, by its URL.
    /// - revocationAudience: the same at the revocation endpoint; `nil`: as everywhere.
    case signed(AssertionKey, audience: String?, revocationAudience: String? = nil)
}

/// Martlet as a client of one provider: its identifier, and all that it may prove it by.
package struct RegisteredClient: Sendable {
    /// RFC 6749 §2.2
    package let clientID: String
    /// Never empty. While a secret is changed at the provider there are two, tried in this order.
    package let proofs: [ClientProof]

    /// - Parameter proofs: None means a public client.
    package init(clientID: String, proofs: [ClientProof]) {
        self.clientID = clientID
        self.proofs = proofs.isEmpty ? [.constant(.none)] : proofs
    }

    /// A client that has one proof, which is always the same.
    package init(_ registration: ClientRegistration) {
        self.init(clientID: registration.clientID, proofs: [.constant(registration.authentication)])
    }
}
