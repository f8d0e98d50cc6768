/// Why the provider does not do what a client asked, in the words of RFC 6749 section 5.2, RFC 7009 and RFC 8628
/// section 3.5. Two refusals are equal when their codes are.
package struct GrantRefusal: Error, Equatable, Sendable {
    /// The `error` of the answer.
    package enum Code: String, Sendable, CaseIterable {
        case invalidRequest = "invalid_request"
        case invalidClient = "invalid_client"
        case invalidGrant = "invalid_grant"
        case invalidScope = "invalid_scope"
        case unsupportedGrantType = "unsupported_grant_type"
        case unsupportedResponseType = "unsupported_response_type"
        case authorizationPending = "authorization_pending"
        case slowDown = "slow_down"
        case expiredToken = "expired_token"
        case serverError = "server_error"
    }

    package let code: Code

    /// The `error_description`: for whoever reads the exchange; never a token.
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package static func == (left: Self, right: Self) -> Bool { left.code == right.code }
}
