/// The parameters of an authorization request that may be answered by a redirection (RFC 6749 section 4.1.1). Unknown
/// parameters are ignored, as `prompt` and `access_type` are.
package struct AuthorizationParameters: Sendable {
    /// Where the answer goes.
    package let redirectURI: String

    /// Repeated in the answer.
    package let state: String?
    private let form: FormBody

    /// The account that is signed in if neither the request nor a rule names one.
    package static let defaultAccount = "mock-user"

    /// Checks the client and the redirect URI. A request that fails these must not be answered by a redirection (RFC
    /// 6749 section 4.1.2.1).
    package init(_ form: FormBody) throws(GrantRefusal) {
        guard try form.require("client_id") == ClientRegistration.id else {
            throw GrantRefusal(.invalidRequest, "the client is unknown")
        }
        let redirectURI = try form.require("redirect_uri")
        guard Self.isUsable(redirectURI) else {
            throw GrantRefusal(.invalidRequest, "the redirect_uri is not absolute, or has a fragment")
        }
        self.redirectURI = redirectURI
        self.state = form["state"]
        self.form = form
    }

    /// Checks the rest of the request.
    package func requireAnswerable() throws(GrantRefusal) {
        guard try self.form.require("response_type") == "code" else {
            throw GrantRefusal(.unsupportedResponseType, "response_type must be code")
        }
        // Without a method the challenge is plain (RFC 7636 section 4.3). This provider does not accept plain
        // challenges.
        guard self.form["code_challenge"] == nil || self.form["code_challenge_method"] == "S256" else {
            throw GrantRefusal(.invalidRequest, "code_challenge_method must be S256")
        }
    }

    /// What a person approves: `account`, or the account that the request names.
    package func request(as account: String?) -> AuthorizationRequest {
        AuthorizationRequest(
            account: account ?? self.form["account"] ?? self.form["login_hint"] ?? Self.defaultAccount,
            scope: self.form["scope"],
            redirectURI: self.redirectURI,
            challenge: self.form["code_challenge"],
            nonce: self.form["nonce"]
        )
    }

    /// Requires a scheme, a colon, a non-empty rest, no fragment (RFC 6749 section 3.1.2), and only characters that a
    /// header can carry.
    private static func isUsable(_ uri: String) -> Bool {
        guard let colon = uri.firstIndex(of: ":"), colon != uri.startIndex else { return false }
        return uri[..<colon].allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0)) }
            && uri[colon...].count > 1 && !uri.contains("#")
            && uri.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }
}
