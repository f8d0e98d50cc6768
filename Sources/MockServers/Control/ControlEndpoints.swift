internal import NIOCore
internal import Synchronization

/// `/_control/…`: how a test or a demo changes and inspects the provider without the client's knowledge.
struct ControlEndpoints {
    let service: MockService

    func respond(to exchange: Exchange) async throws -> MockResponse {
        switch (exchange.head.path, exchange.head.method) {
        case ("/_control/grants", "POST"):
            return try await self.grant(exchange)
        case ("/_control/expire", "POST"):
            return try .json(["expired": self.service.state.withLock { $0.ledger.expireAccessTokens(at: .now) }])
        case ("/_control/faults", "PUT"):
            return try await self.replaceFaults(exchange)
        case ("/_control/sign_in", "PUT"):
            return try await self.replaceSignInRules(exchange)
        case ("/_control/stats", "GET"):
            return try .json(self.service.state.withLock { $0.stats(at: .now) })
        case ("/_control/tokens", "GET"):
            return try .json(["tokens": self.service.state.withLock { $0.everyToken }])
        case ("/_control/grants", _), ("/_control/expire", _):
            return try .methodNotAllowed(allow: "POST")
        case ("/_control/faults", _), ("/_control/sign_in", _):
            return try .methodNotAllowed(allow: "PUT")
        case ("/_control/stats", _), ("/_control/tokens", _):
            return try .methodNotAllowed(allow: "GET")
        default:
            return try .notFound()
        }
    }

    private func grant(_ exchange: Exchange) async throws -> MockResponse {
        do {
            let wanted = try await self.decode(GrantRequest.self, exchange)
            guard !wanted.account.isEmpty else {
                throw GrantRefusal(.invalidRequest, "account: must not be empty")
            }
            let issuer = self.service.issuer(exchange.head)
            let (tokens, _) = try self.service.state.withLock { state throws(GrantRefusal) in
                try state.ledger.open(
                    account: wanted.account,
                    scope: wanted.scope,
                    refreshable: true,
                    issuer: issuer,
                    at: .now,
                    mint: self.service.mint
                )
            }
            return try .json(GrantResponse(tokens))
        } catch let refusal as GrantRefusal {
            return try .refusal(refusal)
        }
    }

    private func replaceFaults(_ exchange: Exchange) async throws -> MockResponse {
        do {
            let rules = try await self.decode([FaultRule].self, exchange)
            self.service.state.withLock { $0.replaceFaults(with: rules) }
            return try .json(["rules": rules.count])
        } catch let refusal as GrantRefusal {
            return try .refusal(refusal)
        }
    }

    private func replaceSignInRules(_ exchange: Exchange) async throws -> MockResponse {
        do {
            let rules = try await self.decode(SignInRules.self, exchange)
            self.service.state.withLock { $0.signInRules = rules }
            return try .json(["replaced": true])
        } catch let refusal as GrantRefusal {
            return try .refusal(refusal)
        }
    }

    private func decode<Value: Decodable>(_ type: Value.Type, _ exchange: Exchange) async throws -> Value {
        guard let body = try await exchange.wholeBody(limit: 16 * 1_048_576) else {
            throw GrantRefusal(.invalidRequest, "the body is longer than 16 MiB")
        }
        return try JSONBody.decode(type, from: body.readableBytesView)
    }

    private struct GrantRequest: Decodable {
        let account: String
        let scope: String?
    }

    private struct GrantResponse: Encodable {
        let account: String
        let refresh_token: String?
        let access_token: String
        let expires_in: Int64

        init(_ tokens: IssuedTokens) {
            self.account = tokens.account
            self.refresh_token = tokens.refreshToken
            self.access_token = tokens.accessToken
            self.expires_in = tokens.expiresIn
        }
    }
}
