internal import OAuth
internal import TokenModel

/// By what an account's tokens are asked for with the grant jwt-bearer (RFC 7523 §2.1).
package struct GrantAssertion: Sendable {
    /// Who signs: at Google the service account's address.
    package let issuer: String
    /// Whom the tokens are for; `nil`: left out.
    package let subject: String?
    /// Whom the assertion is for; `nil`: the token endpoint, by its URL.
    package let audience: String?
    /// What signs it.
    package let key: AssertionKey

    package init(issuer: String, subject: String?, audience: String?, key: AssertionKey) {
        self.issuer = issuer
        self.subject = subject
        self.audience = audience
        self.key = key
    }

    /// One for a request to `endpoint`; `nil` where it could not be signed.
    ///
    /// - Parameter now: by the provider's clock.
    func sign(for endpoint: ProviderURL, scopes: [String], now: WallTime) -> Secret? {
        self.key.sign(
            Assertion(
                issuer: self.issuer,
                subject: self.subject,
                audience: self.audience ?? endpoint.text,
                scopes: scopes,
                issuedAt: now,
                id: Assertion.newID()
            )
        )
    }
}
