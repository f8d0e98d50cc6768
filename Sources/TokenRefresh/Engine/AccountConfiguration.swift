package import ProviderClient
package import TokenModel
package import TokenStorage

/// What the configuration says about one account, as far as refreshing goes.
package struct AccountConfiguration: Sendable {
    package let account: AccountID
    package let provider: ProviderID
    /// How its tokens come about.
    package let grant: AccountGrant
    /// Where its refresh token is redeemed, or its tokens are minted; shared by the provider's accounts.
    package let endpoint: any TokenEndpoint
    /// Tells endpoints of one binding apart, such as before and after another client secret; `nil` where one binding is one
    /// endpoint.
    package let endpointID: ObjectIdentifier?
    /// What to ask for; empty: what was granted before.
    package let scopes: [String]
    /// The lifetime of an imported access token that came without one.
    package let defaultLifetime: Duration
    /// When it is refreshed without anybody waiting.
    package let timing: RefreshTiming
    /// How fast the provider is asked; the same for all of its accounts.
    package let rate: RefreshRate

    package init(
        account: AccountID,
        provider: ProviderID,
        grant: AccountGrant = .refreshToken,
        endpoint: any TokenEndpoint,
        endpointID: ObjectIdentifier? = nil,
        scopes: [String] = [],
        defaultLifetime: Duration = .seconds(3_600),
        timing: RefreshTiming = RefreshTiming(),
        rate: RefreshRate = RefreshRate()
    ) {
        self.account = account
        self.provider = provider
        self.grant = grant
        self.endpoint = endpoint
        self.endpointID = endpointID
        self.scopes = scopes
        self.defaultLifetime = defaultLifetime
        self.timing = timing
        self.rate = rate
    }

    /// How long callers wait for its refresh.
    var timeout: Duration { self.endpoint.timeout }

    /// Whether by `other` the same is sent to the same place, in the name of the same client.
    func asks(like other: AccountConfiguration) -> Bool {
        self.binding == other.binding && self.grant == other.grant && self.endpointID == other.endpointID
    }

    /// Whom its tokens may go to, as far as that is known now.
    package var binding: AccountRecord.Binding {
        let binding = self.endpoint.binding
        return AccountRecord.Binding(provider: self.provider, issuer: binding.issuer, clientID: binding.clientID)
    }
}
