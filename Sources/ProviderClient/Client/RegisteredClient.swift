package import OAuth

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
