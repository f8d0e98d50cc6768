internal import OAuth
internal import ProviderClient
internal import Telemetry
internal import TokenModel

/// A provider's endpoint for one account. It counts and times the token requests.
struct MeteredTokenEndpoint: TokenEndpoint {
    let provider: ProviderID
    /// Retained as long as requests may be sent.
    let shared: SharedTokenEndpoint
    let meter: RefreshMeter
    /// The grant that mints the account's tokens, if they are minted.
    let grant: MintGrant
    /// The index of the client's proof to present; `nil`: the one that worked last.
    private(set) var proof: Int?
    /// The issuer of the tokens that are sent; `nil`: the issuer of this endpoint.
    private(set) var issuer: TokenIssuer?

    init(provider: ProviderID, shared: SharedTokenEndpoint, meter: RefreshMeter, grant: MintGrant = .clientCredentials)
    {
        self.provider = provider
        self.shared = shared
        self.meter = meter
        self.grant = grant
    }

    private var endpoint: HTTPTokenEndpoint { self.shared.endpoint }
    var binding: EndpointBinding { self.endpoint.binding }
    var timeout: Duration { self.endpoint.timeout }
    var answerTimeout: Duration { self.endpoint.answerTimeout }

    var proofs: [any TokenEndpoint] {
        self.endpoint.proofOrder.map { proof in
            var endpoint = self
            endpoint.proof = proof
            return endpoint
        }
    }

    func sending(onlyTo issuer: TokenIssuer) -> any TokenEndpoint {
        var endpoint = self
        endpoint.issuer = issuer
        return endpoint
    }

    func locate() async { await self.endpoint.locate() }
    func doubt() { self.endpoint.doubt() }

    var proofSecret: Secret? { self.proof.map { self.endpoint.secret($0) } ?? self.endpoint.proofSecret }
    var proofAcceptedAt: WallTime? { self.endpoint.proofAcceptedAt }
    var revokes: Bool? { self.endpoint.revokes }

    func isClientSecret(_ value: Secret) -> Bool { self.endpoint.isClientSecret(value) }

    func redeem(
        _ refreshToken: Secret,
        scopes: [String],
        mayStillSend: @escaping @Sendable () -> Bool
    ) async -> TokenVerdict {
        await self.metered {
            await self.endpoint.redeem(
                refreshToken,
                of: self.issuer,
                scopes: scopes,
                proof: self.proof,
                mayStillSend: mayStillSend
            )
        }
    }

    func mint(scopes: [String], mayStillSend: @escaping @Sendable () -> Bool) async -> TokenVerdict {
        await self.metered {
            await self.endpoint.mint(self.grant, scopes: scopes, proof: self.proof, mayStillSend: mayStillSend)
        }
    }

    private func metered(_ ask: () async -> TokenVerdict) async -> TokenVerdict {
        let begin = BootInstant.now
        let verdict = await ask()
        self.meter.add(verdict.name, of: self.provider, took: begin.duration(to: .now))
        return verdict
    }

    func revoke(_ token: Secret, kind: RevocableToken) async -> RevocationVerdict {
        await self.endpoint.revoke(token, of: self.issuer, kind: kind)
    }
}
