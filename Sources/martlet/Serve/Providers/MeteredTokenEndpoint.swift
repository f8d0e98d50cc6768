internal import OAuth
internal import ProviderClient
internal import Telemetry
internal import TokenModel

/// A provider as one account asks it, whose token requests are counted and timed.
struct MeteredTokenEndpoint: TokenEndpoint {
    let provider: ProviderID
    /// Held for as long as anyone may ask.
    let shared: SharedTokenEndpoint
    let meter: RefreshMeter
    /// What the account's tokens are minted by, where they are.
    let grant: MintGrant
    /// Which of the client's proofs is shown; `nil`: what worked last.
    private(set) var proof: Int?
    /// Whose tokens are sent; `nil`: of whoever is asked.
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
