/// An event for operators: an account, or every account of a provider, can't get tokens, and waiting alone may not fix
/// it. Contains no secret.
package struct RefreshEvent: Equatable, Sendable {
    /// The kind of an event. Except for ``refusedWithoutReason``, the raw value is the error code that callers get
    /// meanwhile.
    package enum Kind: String, Sendable, CaseIterable {
        /// A grant is dead, and a person must sign in again. Sent once per grant over all replicas.
        case reauthorizationRequired = "reauthorization_required"
        /// The provider refuses the client, or the client's request for one account, or another server responds in the
        /// provider's place. Sent once until the problem is over.
        case providerConfig = "provider_config"
        /// The provider refuses a refresh token or the client and does not say which. A person must sign in again or
        /// check the client. Sent once per series of such refusals.
        case refusedWithoutReason = "refused_without_reason"
        /// An account's token has expired and its refresh fails. Sent once until the account has a token again.
        case refreshFailed = "refresh_failed"
        /// Requests use an account that has no approval (`require_approval`). Each process sends it at most once a minute.
        case approvalRequired = "approval_required"
    }

    package let kind: Kind
    package let provider: ProviderID
    /// `nil` if the event concerns all accounts of the provider.
    package let account: AccountID?
    /// One word from the provider or from Martlet.
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
