/// An account's current access token and the moment until which it may be used. Each event loop keeps one per account.
package struct UpstreamCredential: Sendable, Equatable {
    package let account: AccountID
    /// The provider that issued the token.
    package let provider: ProviderID
    /// The providers that the token belonged to before an operator adopted it for another provider. A kill of any of
    /// them kills the token.
    package let formerProviders: [ProviderID]
    package let grant: GrantID
    /// The number of the grant's token set. A 401 is compared with it.
    package let generation: Generation
    /// The kill epoch that the record's writer had read.
    package let observedEpoch: Epoch
    package let accessToken: Secret
    /// From this moment on the token must not be put into a request.
    package let usableUntil: BootInstant
    /// The granted scopes, if the provider named them.
    package let scopes: Set<String>
    /// The provider has refused the grant. The token may be used to its end, but no response that it fetched earlier.
    package let isGrantRefused: Bool

    package init(
        account: AccountID,
        provider: ProviderID,
        formerProviders: [ProviderID] = [],
        grant: GrantID,
        generation: Generation,
        observedEpoch: Epoch,
        accessToken: Secret,
        usableUntil: BootInstant,
        scopes: Set<String> = [],
        isGrantRefused: Bool = false
    ) {
        self.account = account
        self.provider = provider
        self.formerProviders = formerProviders
        self.grant = grant
        self.generation = generation
        self.observedEpoch = observedEpoch
        self.accessToken = accessToken
        self.usableUntil = usableUntil
        self.scopes = scopes
        self.isGrantRefused = isGrantRefused
    }
}

/// Identifies one token set of one grant. A request carries such a set, and at most one refresh is spent on it.
package struct TokenVersion: Hashable, Sendable {
    package let grant: GrantID
    package let generation: Generation

    package init(grant: GrantID, generation: Generation) {
        self.grant = grant
        self.generation = generation
    }

    /// The token set of `credential`.
    package init(_ credential: UpstreamCredential) {
        self.init(grant: credential.grant, generation: credential.generation)
    }
}

/// A change of an account's credential. Every cache of credentials applies these events in order.
package enum CredentialEvent: Equatable, Sendable {
    /// The account's credential from now on. It replaces any earlier one.
    case installed(UpstreamCredential)
    /// The token of the account's last credential can't be used any more. Its grant stands: a refresh would help.
    case lapsed(AccountID)
    /// The account has no credential: its tokens were forgotten, replaced or issued for somebody else.
    case dropped(AccountID)
    /// The account is no longer in the configuration. Its credential serves only requests in progress, and no further
    /// events follow for it.
    case retired(AccountID)
    /// An operator's approval of the account's use, which ends at that moment: not at all if it has passed already.
    case approved(AccountID, until: BootInstant)
}
