package import OAuth

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
