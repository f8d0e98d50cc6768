package import TokenModel
internal import TokenStorage

/// An account as an operator is shown it; never a token.
package struct AccountStatus: Equatable, Sendable {
    /// The first that holds.
    package enum State: String, Sendable, CaseIterable {
        case killed
        case unreadable
        case reauthorizationRequired = "reauthorization_required"
        case empty
        case refreshing
        case backingOff = "backing_off"
        case valid
        case expired
    }

    package let account: AccountID
    package let provider: ProviderID
    /// `false` for a record whose account is not in the configuration any more.
    package let isConfigured: Bool
    package let state: State
    /// When the access token ends, by the writer's wall clock.
    package let expiresAt: WallTime?
    package let generation: Generation
    /// When this generation was committed; `nil` for imported tokens.
    package let lastRefreshAt: WallTime?
    /// One word, of the provider's or ours; `nil` after a success. Of a killed account it is what was wrong before the kill,
    /// where no refresh was tried since.
    package internal(set) var lastError: String?
    /// What callers would be told of the refresh that this is shown after; `nil` where it brought tokens, or there was none.
    package internal(set) var refreshError: CredentialError.Code?
    /// Whether that refresh is waited for no longer, and goes on.
    package internal(set) var isRefreshUnderWay = false
    /// What is wrong beside what ``state`` says.
    package let issue: AccountIssue?
    /// What was granted, where the provider said.
    package let scopes: [String]
}

extension AccountStatus {
    /// The ``lastError`` of tokens that were made for another provider, token endpoint or client.
    package static let boundElsewhere = "bound_elsewhere"
    /// The ``lastError`` of an account whose tokens were killed, after the revival: others must be imported.
    package static let tokensKilled = "tokens_killed"
    /// The ``lastError`` of an account whose tokens were removed by an operator: others must be imported.
    package static let tokensRemoved = "tokens_removed"

    /// Reads the status off what a process knows.
    ///
    /// - Parameters:
    ///   - boot: this process's; a claim of its own without a flight is one that was left.
    ///   - gate: the provider's.
    init<Waiter>(
        _ accountState: AccountState<Waiter>,
        incarnation: IncarnationID,
        isConfigured: Bool,
        gate: ProviderGate?,
        now moment: Moment
    ) {
        let now = moment.boot
        let record = accountState.snapshot?.entry?.record
        let match = record?.binding.match(accountState.binding)
        let isBoundElsewhere =
            record?.tokens != nil && match != .same && !(accountState.mints && record?.tokens?.refreshToken == nil)
        let isUsable = match != nil && match != .other && accountState.snapshot?.freshness.isUsable(at: now) == true
        let isClaimed =
            isConfigured
            && record?.claim.map { $0.incarnation != incarnation && !accountState.watch.isOverdue($0, at: now) } == true
        let retryAt = accountState.snapshot?.retryAt ?? .distantPast
        self.account = accountState.account
        self.provider =
            isConfigured ? accountState.binding.provider : record?.binding.provider ?? accountState.binding.provider
        self.isConfigured = isConfigured
        if accountState.isKilled {
            self.state = .killed
        } else if accountState.unreadable != nil {
            self.state = .unreadable
        } else if accountState.isEmptied {
            self.state = .empty
        } else if isBoundElsewhere
            || record?.tokens != nil && !accountState.mints && record?.failureRecord?.endsGrant == true
        {
            self.state = .reauthorizationRequired
        } else if record?.tokens == nil, !accountState.mints {
            self.state = .empty
        } else if accountState.isFlying || isClaimed {
            self.state = .refreshing
        } else if now < retryAt || (gate?.isHeld == true && !isUsable) {
            self.state = .backingOff
        } else {
            self.state = isUsable ? .valid : .expired
        }
        // A minted token of another client is not used, and not waited for to end.
        let isAnothers = accountState.mints && match != .same
        self.expiresAt = record?.tokens.flatMap { $0.accessToken == nil || isAnothers ? nil : $0.expiresAt }
        self.generation = record?.generation ?? .none
        self.lastRefreshAt = record?.refreshedAt
        // A refresh that the kill itself has ended says no more than the state, and not every killed account has had one.
        let failure = accountState.isKilled && accountState.lastError?.code == .killed ? nil : accountState.lastError
        self.lastError =
            accountState.isEmptied && self.state == .empty
            ? accountState.isRemoved ? Self.tokensRemoved : Self.tokensKilled
            : isBoundElsewhere
                ? Self.boundElsewhere : record?.failureRecord?.reason ?? failure?.word
        self.issue =
            switch self.state {
            // Such tokens are another client's, and neither used nor refreshed.
            case .reauthorizationRequired where isBoundElsewhere: nil
            case .refreshing, .backingOff, .valid, .expired, .reauthorizationRequired:
                isConfigured ? accountState.issue(gate, now: moment) : nil
            case .killed, .unreadable, .empty: nil
            }
        self.scopes = record?.tokens?.scopes ?? []
    }
}
