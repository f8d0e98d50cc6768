package import TokenModel

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
