/// What a person approved in the browser, kept until the client brings the code.
package struct AuthorizationRequest: Equatable, Sendable {
    package let account: String
    package let scope: String?

    /// Must come again, equal byte for byte, with the code (RFC 6749 section 4.1.3).
    package let redirectURI: String

    /// The S256 challenge (RFC 7636 section 4.2), where one was given.
    package let challenge: String?

    package init(account: String, scope: String?, redirectURI: String, challenge: String?) {
        self.account = account
        self.scope = scope
        self.redirectURI = redirectURI
        self.challenge = challenge
    }
}
