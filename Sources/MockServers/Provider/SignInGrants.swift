internal import TokenModel

/// The token requests that complete a sign-in: authorization codes and device codes.
struct SignInGrants {
    let service: MockService
    let issuer: String
    let now: Moment

    /// The `grant_type` of device codes (RFC 8628 section 3.4).
    static let deviceCode = "urn:ietf:params:oauth:grant-type:device_code"

    /// Whether a token request completes a sign-in.
    static func includes(_ grantType: String?) -> Bool {
        grantType == "authorization_code" || grantType == Self.deviceCode
    }

    /// Exchanges an authorization code. A code that was used before revokes the tokens it yielded.
    func redeemCode(_ form: FormBody, in state: inout MockState) throws(GrantRefusal) -> TokenResponse {
        let code = try form.require("code")
        let redemption = try state.authorizationCodes.redeem(
            code,
            redirectURI: form["redirect_uri"],
            verifier: form["code_verifier"],
            at: self.now
        )
        switch redemption {
        case .approved(let signIn):
            let (response, family) = try self.open(signIn, in: &state)
            state.authorizationCodes.close(code, family: family)
            state.count(\.codesRedeemed)
            return response
        case .replayed(let family):
            state.ledger.revokeFamily(family, at: self.now)
            state.count(\.codesReplayed)
            throw GrantRefusal(.invalidGrant, "the code was used before; its tokens are revoked")
        }
    }

    /// Answers the poll of a device.
    func pollDevice(_ form: FormBody, in state: inout MockState) throws(GrantRefusal) -> TokenResponse {
        let signIn = try state.pollDevice(try form.require("device_code"), at: self.now)
        return try self.open(signIn, in: &state).response
    }

    private func open(
        _ signIn: ApprovedSignIn,
        in state: inout MockState
    ) throws(GrantRefusal) -> (response: TokenResponse, family: Int) {
        let rules = state.signInRules
        let scope = rules.scope ?? signIn.scope
        let idToken = try self.service.idTokens.token(
            for: signIn,
            scope: scope,
            issuer: self.issuer,
            under: rules,
            at: self.now
        )
        let (tokens, family) = try state.ledger.open(
            account: signIn.account,
            scope: scope,
            refreshable: rules.isRefreshable,
            issuer: self.issuer,
            at: self.now,
            mint: self.service.mint
        )
        if let idToken {
            state.noteIDToken(idToken)
        }
        return (TokenResponse(tokens, idToken: idToken), family)
    }
}
