/// Where tokens of a provider may be sent, and as which client.
package struct EndpointBinding: Hashable, Sendable {
    /// `scheme://host:port`, lower case and the port always written: of the token endpoint where the configuration
    /// names it, else of the issuer, which is then the one to say where its token endpoint is (RFC 8414).
    package let tokenEndpointOrigin: String
    /// The client identifier (RFC 6749 §2.2).
    package let clientID: String

    package init(tokenEndpointOrigin: String, clientID: String) {
        self.tokenEndpointOrigin = tokenEndpointOrigin
        self.clientID = clientID
    }
}
