internal import Synchronization
internal import TextCoding

/// `GET /oauth/authorize`: approves at once, for the account that `account` or `login_hint` names, otherwise for
/// `mock-user`.
struct AuthorizationEndpoint {
    let service: MockService

    /// The account that is signed in if a request names none.
    static let defaultAccount = "mock-user"

    /// Redirects with a code or with an error. Returns an error response if there is no usable redirect URI (RFC 6749
    /// section 4.1.2.1).
    func respond(to head: ReceivedHead) throws -> MockResponse {
        do {
            let query = try FormBody(head.query)
            guard try query.require("client_id") == ClientRegistration.id else {
                throw GrantRefusal(.invalidRequest, "the client is unknown")
            }
            let redirectURI = try query.require("redirect_uri")
            guard Self.isUsable(redirectURI) else {
                throw GrantRefusal(.invalidRequest, "the redirect_uri is not absolute, or has a fragment")
            }
            return self.redirect(to: redirectURI, query, issuer: self.service.issuer(head))
        } catch let refusal as GrantRefusal {
            return try .refusal(refusal)
        }
    }

    private func redirect(to redirectURI: String, _ query: FormBody, issuer: String) -> MockResponse {
        var parameters: [(String, String)] = []
        do throws(GrantRefusal) {
            guard try query.require("response_type") == "code" else {
                throw GrantRefusal(.unsupportedResponseType, "response_type must be code")
            }
            // Without a method the challenge is plain (RFC 7636 section 4.3). This provider does not accept plain
            // challenges.
            guard query["code_challenge"] == nil || query["code_challenge_method"] == "S256" else {
                throw GrantRefusal(.invalidRequest, "code_challenge_method must be S256")
            }
            let code = self.service.mint.opaqueToken("mac")
            let request = AuthorizationRequest(
                account: query["account"] ?? query["login_hint"] ?? Self.defaultAccount,
                scope: query["scope"],
                redirectURI: redirectURI,
                challenge: query["code_challenge"]
            )
            self.service.state.withLock { $0.authorizationCodes.issue(code, for: request, at: .now) }
            parameters.append(("code", code))
        } catch {
            parameters.append(("error", error.code.rawValue))
            parameters.append(("error_description", error.message))
        }
        if let state = query["state"] {
            parameters.append(("state", state))
        }
        // RFC 9207: tells the client which provider the response comes from.
        parameters.append(("iss", issuer))
        let encoded = parameters.map { "\($0.0)=\(PercentCoding.encode($0.1))" }.joined(separator: "&")
        let separator = redirectURI.contains("?") ? "&" : "?"
        return MockResponse(
            status: 302,
            fields: [
                HeaderField("Location", "\(redirectURI)\(separator)\(encoded)"),
                HeaderField("Cache-Control", "no-store"),
            ]
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
