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
