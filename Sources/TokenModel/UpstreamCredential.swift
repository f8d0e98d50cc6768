/// The right to use an account's current access token until a moment. Each event loop keeps one per account.
package struct UpstreamCredential: Sendable, Equatable {
    package let account: AccountID
    /// Whose token it is.
    package let provider: ProviderID
    /// Whose it was before an operator adopted it for another: a kill of any of them ends it.
    package let formerProviders: [ProviderID]
    package let grant: GrantID
    /// Which of the grant's token sets this is: what a 401 is compared against.
    package let generation: Generation
    /// The kill epoch the record's writer had read.
    package let observedEpoch: Epoch
    package let accessToken: Secret
    /// From this moment on the token must not be written any more.
    package let usableUntil: BootInstant

    package init(
        account: AccountID,
        provider: ProviderID,
        formerProviders: [ProviderID] = [],
        grant: GrantID,
        generation: Generation,
        observedEpoch: Epoch,
        accessToken: Secret,
        usableUntil: BootInstant
    ) {
        self.account = account
        self.provider = provider
        self.formerProviders = formerProviders
        self.grant = grant
        self.generation = generation
        self.observedEpoch = observedEpoch
        self.accessToken = accessToken
        self.usableUntil = usableUntil
    }
}

/// Which token set of which grant: what a request carried, and what at most one refresh is ever spent on.
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

/// What became of an account's credential: what those who keep it follow, in order.
package enum CredentialEvent: Equatable, Sendable {
    /// From now on this is the account's credential, in place of any before.
    case installed(UpstreamCredential)
    /// The account has no credential: its tokens were forgotten, replaced or made for somebody else.
    case dropped(AccountID)
    /// The account is no longer in the configuration: its credential is for those requests that are under way, and nobody is
    /// told what becomes of it.
    case retired(AccountID)
}
