/// What a person is asked for who signs in at a provider.
package struct ProviderLoginSettings: Equatable, Sendable {
    /// Requested in addition to the account's scopes.
    package let scopes: [String]
    /// `prompt` of the authorization request (OpenID Connect Core §3.1.2.1); `nil`: the request has none.
    package let prompt: String?
    /// The redirect URI that is registered at the provider for this client.
    package let redirectURI: RedirectURI
    /// Added to each authorization request. Contains no parameter that the request itself sets.
    package let extra: [String: String]
}

/// The listener to which a provider sends the browser back, if the gateway itself receives the answer. It serves only
/// paths below `/login/`.
package struct LoginListenerSettings: Equatable, Sendable {
    package let address: ListenerAddress
    /// `nil`: it serves plain HTTP, on loopback or behind a proxy that terminates TLS.
    package let tls: CertificateSettings?
    /// As browsers see it. Its path is below `/login/`, in the normal form, and not that of a page of the gateway.
    package let redirectURI: RedirectURI
}
