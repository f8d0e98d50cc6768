package import ProviderClient
package import TokenModel
package import TokenStorage

/// What the configuration says about one account, as far as refreshing goes.
package struct AccountPlan: Sendable {
    package let account: AccountID
    package let provider: ProviderID
    /// Where its refresh token is redeemed; shared by the provider's accounts.
    package let endpoint: any TokenEndpoint
    /// What to ask for; empty: what was granted before.
    package let scopes: [String]
    /// The lifetime of an imported access token that came without one.
    package let defaultLifetime: Duration

    package init(
        account: AccountID,
        provider: ProviderID,
        endpoint: any TokenEndpoint,
        scopes: [String] = [],
        defaultLifetime: Duration = .seconds(3_600)
    ) {
        self.account = account
        self.provider = provider
        self.endpoint = endpoint
        self.scopes = scopes
        self.defaultLifetime = defaultLifetime
    }

    /// Whom its tokens may go to.
    package var binding: AccountRecord.Binding {
        AccountRecord.Binding(
            provider: self.provider,
            tokenEndpointOrigin: self.endpoint.binding.tokenEndpointOrigin,
            clientID: self.endpoint.binding.clientID
        )
    }
}
