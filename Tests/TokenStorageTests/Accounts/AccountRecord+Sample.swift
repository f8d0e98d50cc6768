import TokenModel
import TokenStorage

extension AccountRecord {
    /// A record with every field set.
    static func sample(generation: Generation = Generation(3)) -> AccountRecord {
        AccountRecord(
            grant: GrantID("grant-1"),
            generation: generation,
            tokens: TokenSet(
                accessToken: Secret("access"),
                refreshToken: Secret("refresh"),
                receivedAt: WallTime(millisecondsSince1970: 1_700_000_000_123),
                lifetime: .seconds(3600),
                refreshLifetime: .seconds(86_400),
                scopes: ["read", "écrire"]
            ),
            observedEpoch: Epoch(4),
            binding: Binding(
                provider: ProviderID("acme"),
                issuer: .tokenEndpoint("https://login.acme.example:443/token"),
                clientID: "client"
            ),
            claim: Claim(incarnation: IncarnationID("boot-1"), id: ClaimID("claim-1"), standsFor: .seconds(12)),
            failureRecord: FailureRecord(
                tries: 2,
                spent: .maybe,
                retryIn: .milliseconds(1500),
                dead: true,
                reason: "invalid_grant"
            ),
            refreshedAt: WallTime(millisecondsSince1970: 1_700_000_000_456),
            killed: [TokenDigest(of: Secret("dead")), TokenDigest(of: Secret("as well"))],
            formerProviders: [ProviderID("acme-old")],
            acceptedProof: TokenDigest(of: Secret("client secret"))
        )
    }
}
