package import OAuth
package import TokenModel

/// A private key that signs assertions.
package struct SigningKeySettings: Equatable, Sendable {
    /// The absolute path of a PEM file.
    package let file: String
    /// What stands in it.
    package let pem: Secret
    package let algorithm: SigningAlgorithm
    /// What the provider knows the key by; `nil`: it knows one only.
    package let keyID: String?
}

/// Whom a client's assertions are for (RFC 7523 §3), by the endpoint they are shown to.
package struct AssertionAudience: Equatable, Sendable {
    /// `nil`: the token endpoint, by its URL.
    package var token: String?
    /// `nil`: as for tokens.
    package var revocation: String?

    package init(token: String? = nil, revocation: String? = nil) {
        self.token = token
        self.revocation = revocation
    }
}
