internal import Synchronization
internal import TokenModel

/// `POST /oauth/token`: refresh, authorization code, client credentials, password and device code grants.
struct TokenEndpoint {
    let service: MockService

    func reply(to exchange: Exchange) async throws -> Reply {
        let form = try await ClientForm.read(exchange)
        let refreshToken = try? form.get().fields["refresh_token"]
        let (span, fault) = self.service.state.withLock {
            $0.tokenRequestArrived(refreshToken: refreshToken, path: exchange.head.path)
        }
        let service = self.service
        exchange.connection.whenPeerLeaves { service.state.withLock { $0.tokenRequestEnded(span) } }
        defer {
            // Runs before the response is sent, because its receiver may send the next request before this task
            // continues.
            exchange.connection.whenPeerLeaves(nil)
            service.state.withLock { $0.tokenRequestEnded(span) }
        }
        return try await FaultRule.reply(under: fault) {
            service.state.withLock { $0.count(TokenOutcome.fault) }
        } process: {
            if SignInGrants.includes(try? form.get().fields["grant_type"]) {
                try await Task.sleep(for: service.state.withLock { $0.signInRules.tokenDelay })
            }
            return try self.process(form, issuer: service.issuer(exchange.head))
        }
    }

    private func process(_ form: Result<ClientForm, GrantRefusal>, issuer: String) throws -> MockResponse {
        let outcome = self.service.state.withLock { state in
            let outcome = Result { () throws(GrantRefusal) in
                let form = try form.get()
                try form.authenticate()
                return try self.grant(form.fields, issuer: issuer, at: .now, in: &state)
            }
            switch outcome {
            case .success: state.count(TokenOutcome.ok)
            case .failure(let refusal): state.count(TokenOutcome.refused(refusal))
            }
            return outcome
        }
        return switch outcome {
        case .success(let response): try .json(response)
        case .failure(let refusal): try .refusal(refusal)
        }
    }

    private func grant(
        _ form: FormBody,
        issuer: String,
        at now: Moment,
        in state: inout MockState
    ) throws(GrantRefusal) -> TokenResponse {
        let mint = self.service.mint
        switch try form.require("grant_type") {
        case "refresh_token":
            return TokenResponse(
                try state.ledger.refresh(
                    try form.require("refresh_token"),
                    scope: form["scope"],
                    issuer: issuer,
                    at: now,
                    mint: mint
                )
            )
        case "authorization_code":
            return try SignInGrants(service: self.service, issuer: issuer, now: now).redeemCode(form, in: &state)
        case "client_credentials":
            return TokenResponse(
                try state.ledger.open(
                    account: form["account"] ?? ClientRegistration.id,
                    scope: form["scope"],
                    refreshable: false,
                    issuer: issuer,
                    at: now,
                    mint: mint
                ).tokens
            )
        case "password":
            return try self.signIn(form, issuer: issuer, at: now, in: &state)
        case SignInGrants.deviceCode:
            return try SignInGrants(service: self.service, issuer: issuer, now: now).pollDevice(form, in: &state)
        default:
            throw GrantRefusal(.unsupportedGrantType, "this provider does not know the grant_type")
        }
    }

    private func signIn(
        _ form: FormBody,
        issuer: String,
        at now: Moment,
        in state: inout MockState
    ) throws(GrantRefusal) -> TokenResponse {
        let username = try form.require("username")
        guard try form.require("password") == ClientRegistration.password else {
            throw GrantRefusal(.invalidGrant, "the password is wrong")
        }
        return TokenResponse(
            try state.ledger.open(
                account: username,
                scope: form["scope"],
                refreshable: true,
                issuer: issuer,
                at: now,
                mint: self.service.mint
            ).tokens
        )
    }
}

/// The body of a successful response of the token endpoint (RFC 6749 section 5.1).
struct TokenResponse: Encodable {
    let access_token: String
    let token_type = "Bearer"
    let expires_in: Int64
    let refresh_token: String?
    let scope: String?

    /// OpenID Connect Core section 3.1.3.3.
    let id_token: String?

    init(_ tokens: IssuedTokens, idToken: String? = nil) {
        self.access_token = tokens.accessToken
        self.expires_in = tokens.expiresIn
        self.refresh_token = tokens.refreshToken
        self.scope = tokens.scope
        self.id_token = idToken
    }
}

/// `POST /oauth/revoke` (RFC 7009).
struct RevocationEndpoint {
    let service: MockService

    func reply(to exchange: Exchange) async throws -> Reply {
        let form = try await ClientForm.read(exchange)
        let fault = self.service.state.withLock { $0.revocationArrived(path: exchange.head.path) }
        return try await FaultRule.reply(under: fault) {
            self.service.state.withLock { $0.count(RevocationOutcome.fault) }
        } process: {
            try self.process(form)
        }
    }

    /// An unknown token counts as revoked and gets a 200 too (RFC 7009 section 2.2).
    private func process(_ form: Result<ClientForm, GrantRefusal>) throws -> MockResponse {
        let outcome = self.service.state.withLock { state in
            let outcome = Result { () throws(GrantRefusal) in
                let form = try form.get()
                try form.authenticate()
                return state.ledger.revoke(try form.fields.require("token"), at: .now)
            }
            state.count((try? outcome.get()) == true ? RevocationOutcome.ok : .unknown)
            return outcome
        }
        return switch outcome {
        case .success: MockResponse(status: 200, fields: [HeaderField("Cache-Control", "no-store")])
        case .failure(let refusal): try .refusal(refusal)
        }
    }
}
