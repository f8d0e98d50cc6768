package import OAuth
internal import Synchronization
internal import TokenModel

/// Adds a client's proofs to requests, and remembers which proof the provider accepted last.
final class ClientProver: Sendable {
    private let client: RegisteredClient
    private let accepted = Mutex<(proof: Int, at: WallTime)?>(nil)

    init(_ client: RegisteredClient) { self.client = client }

    /// The numbers of the proofs in the order to try them: the one accepted last, then the others as configured.
    var order: [Int] {
        let first = self.accepted.withLock { $0?.proof } ?? 0
        return [first] + self.client.proofs.indices.filter { $0 != first }
    }

    /// When the provider last accepted a proof; `nil` if it has accepted none.
    var acceptedAt: WallTime? { self.accepted.withLock { $0?.at } }

    /// The client secret that a proof consists of; `nil` for any other proof.
    func secret(_ proof: Int) -> Secret? {
        guard self.client.proofs.indices.contains(proof) else { return nil }
        switch self.client.proofs[proof] {
        case .constant(.clientSecretBasic(let secret)), .constant(.clientSecretPost(let secret)): return secret
        case .constant, .signed: return nil
        }
    }

    /// Whether the client has more than one proof.
    var hasChoice: Bool { self.client.proofs.count > 1 }

    /// Whether some proofs are signed. If so, the token endpoint must be known, because signed proofs are valid there.
    var signs: Bool {
        self.client.proofs.contains { if case .signed = $0 { true } else { false } }
    }

    /// Whether `value` is one of the client's secrets.
    func isSecret(_ value: Secret) -> Bool {
        self.client.proofs.indices.contains { self.secret($0) == value }
    }

    /// Records that the provider accepted this proof.
    ///
    /// - Returns: whether another proof was preferred until now.
    func worked(_ proof: Int, at now: WallTime) -> Bool {
        self.accepted.withLock { accepted in
            defer { accepted = (proof, now) }
            return (accepted?.proof ?? 0) != proof
        }
    }

    /// An endpoint besides the token endpoint, with the token endpoint and the issuer of the same provider.
    struct Place: Equatable {
        let endpoint: ProviderURL
        let tokenEndpoint: ProviderURL
        /// `nil` if the configuration names no issuer.
        let issuer: String?

        fileprivate var audience: String {
            self.endpoint.origin == self.tokenEndpoint.origin
                ? self.tokenEndpoint.text : self.issuer ?? self.endpoint.text
        }
    }

    /// The intended audience of a signed proof.
    enum Audience: Equatable {
        /// The audience configured for token requests, else this token endpoint.
        case tokens(ProviderURL)
        /// The audience configured for revocations, else the one configured for token requests.
        ///
        /// Without either, it is the token endpoint if both endpoints have the same origin, else the issuer, else the
        /// revocation endpoint. If the origins differ, the token endpoint is not used: a malicious provider could name
        /// another provider's token endpoint in its metadata, and replay there the proofs that its own revocation
        /// endpoint receives.
        case revocation(Place)
        /// The audience configured for token requests, else as for a revocation. RFC 9126 §2 has such endpoints accept
        /// the token endpoint and the issuer.
        case preparation(Place)
        /// This URL, regardless of the configuration.
        case own(ProviderURL)
    }

    /// The audience of a proof; `nil` if the proof is not signed.
    func audience(_ proof: Int, _ audience: Audience) -> String? {
        guard self.client.proofs.indices.contains(proof),
            case .signed(_, let named, let namedForRevocation) = self.client.proofs[proof]
        else { return nil }
        return switch audience {
        case .tokens(let endpoint): named ?? endpoint.text
        case .revocation(let place): namedForRevocation ?? named ?? place.audience
        case .preparation(let place): named ?? place.audience
        case .own(let endpoint): endpoint.text
        }
    }

    /// The registration for one request; `nil` if the proof can't be signed.
    ///
    /// - Parameter now: the current time by the provider's clock.
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

/// A means by which the client authenticates to a provider (RFC 6749 §2.3).
package enum ClientProof: Sendable {
    /// The same in every request: a secret, the connection's certificate, or nothing.
    case constant(ClientRegistration.Authentication)
    /// `private_key_jwt`: an assertion, signed anew for each request (RFC 7523 §2.2).
    ///
    /// - audience: its audience; `nil` for the token endpoint's URL.
    /// - revocationAudience: its audience at the revocation endpoint; `nil` for the general rule.
    case signed(AssertionKey, audience: String?, revocationAudience: String? = nil)
}

/// Martlet as a client of one provider: its identifier and its possible proofs.
package struct RegisteredClient: Sendable {
    /// RFC 6749 §2.2
    package let clientID: String
    /// Never empty. While a secret is being changed at the provider there are two proofs, tried in this order.
    package let proofs: [ClientProof]

    /// - Parameter proofs: empty for a public client.
    package init(clientID: String, proofs: [ClientProof]) {
        self.clientID = clientID
        self.proofs = proofs.isEmpty ? [.constant(.none)] : proofs
    }

    /// A client with one proof, which is the same in every request.
    package init(_ registration: ClientRegistration) {
        self.init(clientID: registration.clientID, proofs: [.constant(registration.authentication)])
    }
}
