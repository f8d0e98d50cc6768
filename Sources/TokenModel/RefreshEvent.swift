/// What an operator should hear of: an account, or all of a provider's, can't be given tokens, and time alone may not mend
/// it. Holds no secret.
package struct RefreshEvent: Equatable, Sendable {
    /// Named as the answers that callers get meanwhile.
    package enum Kind: String, Sendable, CaseIterable {
        /// A grant is dead: somebody must sign in again. Once per grant, over all replicas.
        case reauthorizationRequired = "reauthorization_required"
        /// The provider refuses the client, or what it asks for one account, or something else answers in its place. Once
        /// until that is over.
        case providerConfig = "provider_config"
        /// The provider refuses a refresh token, or the client, and does not say which: somebody must sign in again, or look
        /// at the client. Once for each row of such refusals.
        case refusedWithoutReason = "refused_without_reason"
        /// An account's token has expired and its refresh fails. Once until it has a token again.
        case refreshFailed = "refresh_failed"
    }

    package let kind: Kind
    package let provider: ProviderID
    /// `nil` for what concerns all of the provider's.
    package let account: AccountID?
    /// One word, of the provider's or ours.
    package let reason: String
    package let at: WallTime

    package init(_ kind: Kind, provider: ProviderID, account: AccountID?, reason: String, at: WallTime) {
        self.kind = kind
        self.provider = provider
        self.account = account
        self.reason = reason
        self.at = at
    }
}
