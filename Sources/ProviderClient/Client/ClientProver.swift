internal import OAuth
internal import Synchronization
internal import TokenModel

/// Puts a client's proofs into requests, and remembers which of them was taken last.
final class ClientProver: Sendable {
    private let client: RegisteredClient
    private let preferred = Mutex(0)

    init(_ client: RegisteredClient) { self.client = client }

    /// The proofs by number, in the order to try them: the one that worked last, then the others as they are configured.
    var order: [Int] {
        let first = self.preferred.withLock { $0 }
        return [first] + self.client.proofs.indices.filter { $0 != first }
    }

    /// Whether there is more than one.
    var hasChoice: Bool { self.client.proofs.count > 1 }

    /// Whether some are signed for the token endpoint, so that it must be known.
    var namesTokenEndpoint: Bool {
        self.client.proofs.contains { if case .signed(_, audience: nil) = $0 { true } else { false } }
    }

    /// Whether it is one of the client's secrets.
    func isSecret(_ value: Secret) -> Bool {
        self.client.proofs.contains { proof in
            switch proof {
            case .constant(.clientSecretBasic(let secret)), .constant(.clientSecretPost(let secret)): secret == value
            case .constant, .signed: false
            }
        }
    }

    /// The provider took this one.
    ///
    /// - Returns: whether another one was preferred so far.
    func worked(_ proof: Int) -> Bool {
        self.preferred.withLock { preferred in
            defer { preferred = proof }
            return preferred != proof
        }
    }

    /// What stands in one request; `nil` where it could not be signed.
    ///
    /// - Parameters:
    ///   - endpoint: the token endpoint, whom a signed proof is for unless the configuration names another audience.
    ///   - now: by the provider's clock.
    func registration(_ proof: Int, at endpoint: ProviderURL, now: WallTime) -> ClientRegistration? {
        let clientID = self.client.clientID
        guard self.client.proofs.indices.contains(proof) else { return nil }
        switch self.client.proofs[proof] {
        case .constant(let authentication):
            return ClientRegistration(clientID: clientID, authentication: authentication)
        case .signed(let key, let audience):
            let assertion = Assertion(
                issuer: clientID,
                subject: clientID,
                audience: audience ?? endpoint.text,
                issuedAt: now,
                id: Assertion.newID()
            )
            return key.sign(assertion).map {
                ClientRegistration(clientID: clientID, authentication: .clientAssertion($0))
            }
        }
    }
}
