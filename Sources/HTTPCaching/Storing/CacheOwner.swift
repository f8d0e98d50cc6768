package import TokenModel

/// The authorization whose token fetched a stored response. The response serves requests with that authorization only.
package struct CacheOwner: Hashable, Sendable {
    package let grant: GrantID
    /// What the authorization covers. A refresh may narrow it (RFC 6749 §6).
    package let scopes: Set<String>
    /// The kill epoch that the writer of the token's record had read: a later kill makes the response unusable.
    package let observedEpoch: Epoch

    package init(grant: GrantID, scopes: Set<String>, observedEpoch: Epoch) {
        self.grant = grant
        self.scopes = scopes
        self.observedEpoch = observedEpoch
    }

    /// The authorization of `credential`; `nil` if the provider has refused its grant.
    package init?(_ credential: UpstreamCredential) {
        guard !credential.isGrantRefused else { return nil }
        self.init(
            grant: credential.grant,
            scopes: credential.scopes,
            observedEpoch: credential.observedEpoch
        )
    }

    /// Whether `other` is the same authorization, with the same scopes.
    package func covers(_ other: CacheOwner) -> Bool { self.grant == other.grant && self.scopes == other.scopes }
}
