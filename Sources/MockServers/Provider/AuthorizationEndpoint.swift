internal import Synchronization
internal import TextCoding

/// `GET /oauth/authorize`: approves at once, for the account that `account` or `login_hint` names, otherwise for
/// `mock-user`. Where the rules ask for consent, a page asks the person who opened it, and `GET /oauth/consent` takes
/// the decision.
struct AuthorizationEndpoint {
    let service: MockService

    /// Redirects with a code or with an error. Returns an error response if there is no usable redirect URI (RFC 6749
    /// section 4.1.2.1).
    func respond(to head: ReceivedHead) throws -> MockResponse {
        let issuer = self.service.issuer(head)
        let mint = self.service.mint
        do {
            let query = try FormBody(head.query)
            return try self.service.state.withLock { state in
                state.count(\.authorize)
                let isPushed = query["request_uri"] != nil
                let parameters = try Self.parameters(query, in: &state)
                let rules = state.signInRules
                do throws(GrantRefusal) {
                    try parameters.requireAnswerable()
                    guard isPushed || !rules.metadata.requiresPAR else {
                        throw GrantRefusal(.invalidRequest, "the request must be pushed")
                    }
                    if let error = rules.error { throw rules.denial(error) }
                } catch {
                    return Self.redirect(parameters, error: error, issuer: issuer, rules)
                }
                guard rules.asksForConsent else {
                    return Self.approve(parameters, issuer: issuer, mint, in: &state)
                }
                let id = mint.opaqueToken("mcs")
                state.consents.add(parameters, under: id, at: .now)
                return ConsentPage(request: parameters.request(as: rules.account), id: id).response
            }
        } catch let refusal as GrantRefusal {
            return try .refusal(refusal)
        }
    }

    /// Redirects with the answer to the person's decision. Each page decides once.
    func decide(_ head: ReceivedHead) throws -> MockResponse {
        let issuer = self.service.issuer(head)
        let mint = self.service.mint
        do {
            let query = try FormBody(head.query)
            let id = try query.require("id")
            guard let decision = ConsentPage.Decision(rawValue: try query.require("decision")) else {
                throw GrantRefusal(.invalidRequest, "the decision must be approve or deny")
            }
            return try self.service.state.withLock { state in
                guard let parameters = state.consents.take(id, at: .now) else {
                    throw GrantRefusal(.invalidRequest, "the page was used before, or it is too old")
                }
                return switch decision {
                case .approve:
                    Self.approve(parameters, issuer: issuer, mint, in: &state)
                case .deny:
                    Self.redirect(
                        parameters,
                        error: state.signInRules.denial(nil),
                        issuer: issuer,
                        state.signInRules
                    )
                }
            }
        } catch let refusal as GrantRefusal {
            return try .refusal(refusal)
        }
    }

    /// A request that was pushed consists of what was pushed: parameters beside its `request_uri` do not count (RFC 9101
    /// section 5).
    private static func parameters(
        _ query: FormBody,
        in state: inout MockState
    ) throws(GrantRefusal) -> AuthorizationParameters {
        guard let requestURI = query["request_uri"] else { return try AuthorizationParameters(query) }
        guard try query.require("client_id") == ClientRegistration.id else {
            throw GrantRefusal(.invalidRequest, "the client is unknown")
        }
        guard let pushed = state.pushedRequests.take(requestURI, at: .now) else {
            throw GrantRefusal(.invalidRequestURI, "the request_uri is unknown, used or expired")
        }
        return try AuthorizationParameters(pushed)
    }

    private static func approve(
        _ parameters: AuthorizationParameters,
        issuer: String,
        _ mint: any TokenMint,
        in state: inout MockState
    ) -> MockResponse {
        let code = mint.opaqueToken("mac")
        let rules = state.signInRules
        state.authorizationCodes.issue(code, for: parameters.request(as: rules.account), at: .now)
        return Self.redirect(parameters, [("code", code)], issuer: issuer, rules)
    }

    private static func redirect(
        _ parameters: AuthorizationParameters,
        error: GrantRefusal,
        issuer: String,
        _ rules: SignInRules
    ) -> MockResponse {
        let answer = [("error", error.code.rawValue), ("error_description", error.message)]
        return Self.redirect(parameters, answer, issuer: issuer, rules)
    }

    private static func redirect(
        _ parameters: AuthorizationParameters,
        _ answer: [(String, String)],
        issuer: String,
        _ rules: SignInRules
    ) -> MockResponse {
        var answer = answer
        let state = SignInRules.spoil(parameters.state, with: rules.state, wrong: SignInRules.wrongValue)
        if let state {
            answer.append(("state", state))
        }
        // RFC 9207: tells the client which provider the response comes from.
        if let issuer = SignInRules.spoil(issuer, with: rules.issuer, wrong: SignInRules.wrongIssuer) {
            answer.append(("iss", issuer))
        }
        let encoded = answer.map { "\($0.0)=\(PercentCoding.encode($0.1))" }.joined(separator: "&")
        let separator = parameters.redirectURI.contains("?") ? "&" : "?"
        return MockResponse(
            status: 302,
            fields: [
                HeaderField("Location", "\(parameters.redirectURI)\(separator)\(encoded)"),
                HeaderField("Cache-Control", "no-store"),
            ]
        )
    }
}
