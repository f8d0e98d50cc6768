import TokenModel
import TokenStorage

extension AccountRecord {
    /// A record as a committed refresh leaves it.
    static func sample(grant: String, generation: UInt64) -> AccountRecord {
        AccountRecord(
            grant: GrantID(grant),
            generation: Generation(generation),
            tokens: TokenSet(
                accessToken: Secret("at-\(generation)"),
                refreshToken: Secret("rt-\(generation)"),
                receivedAt: WallTime(millisecondsSince1970: 1_767_225_600_000),
                lifetime: .seconds(3_600)
            ),
            observedEpoch: .start,
            binding: Binding(provider: ProviderID("acme"), issuer: .tokenEndpoint("https://a:443/token"), clientID: "c")
        )
    }
}
