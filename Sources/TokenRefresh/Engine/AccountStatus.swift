package import TokenModel
internal import TokenStorage

/// An account's status for operators. Never contains a token.
package struct AccountStatus: Equatable, Sendable {
    /// The account's state. If several apply, the first one is reported.
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
    /// `false` for a record whose account is no longer in the configuration.
    package let isConfigured: Bool
    package let state: State
    /// When the access token expires, on the writer's wall clock.
    package let expiresAt: WallTime?
    package let generation: Generation
    /// When this generation was committed; `nil` for imported tokens.
    package let lastRefreshAt: WallTime?
    /// The last error in one word from the provider or from Martlet; `nil` after a success. For a killed account it is
    /// the error before the kill if no refresh was tried since.
    package internal(set) var lastError: String?
    /// The error that callers would get from the refresh that precedes this status; `nil` if the refresh brought tokens
    /// or there was none.
    package internal(set) var refreshError: CredentialError.Code?
    /// Whether the wait for that refresh is over while the refresh goes on.
    package internal(set) var isRefreshUnderWay = false
    /// A problem that ``state`` does not show; `nil` if there is none.
    package let issue: AccountIssue?
    /// The granted scopes, if the provider named them.
    package let scopes: [String]
}

extension AccountStatus {
    /// What is known of a member of a family without its record.
    init(_ account: AccountID, of provider: ProviderID, _ state: State) {
        self.init(
            account: account,
            provider: provider,
            isConfigured: true,
            state: state,
            expiresAt: nil,
            generation: .none,
            lastRefreshAt: nil,
            lastError: nil,
            refreshError: nil,
            issue: nil,
            scopes: []
        )
    }

    /// The ``lastError`` of tokens that were issued for another provider, token endpoint or client.
    package static let boundElsewhere = "bound_elsewhere"
    /// The ``lastError`` of an account whose tokens were killed, after the revival. New tokens must be imported.
    package static let tokensKilled = "tokens_killed"
    /// The ``lastError`` of an account whose tokens were removed by an operator. New tokens must be imported.
    package static let tokensRemoved = "tokens_removed"

    /// Derives the status from what this process knows.
    ///
    /// - Parameters:
    ///   - incarnation: this process's incarnation. A claim of its own without a flight was left behind.
    ///   - gate: the provider's gate.
    ///   - timing: when the provider's accounts are refreshed; `nil` if nothing refreshes the account.
    init<Waiter>(
        _ accountState: AccountState<Waiter>,
        incarnation: IncarnationID,
        isConfigured: Bool,
        gate: ProviderGate?,
        timing: RefreshTiming? = nil,
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
        // A minted token of another client is not used, and its expiry is not awaited.
        let isAnothers = accountState.mints && match != .same
        self.expiresAt = record?.tokens.flatMap { $0.accessToken == nil || isAnothers ? nil : $0.expiresAt }
        self.generation = record?.generation ?? .none
        self.lastRefreshAt = record?.refreshedAt
        // An error from a refresh that the kill itself ended says no more than the state, and not every killed account
        // has had such a refresh.
        let failure = accountState.isKilled && accountState.lastError?.code == .killed ? nil : accountState.lastError
        self.lastError =
            accountState.isEmptied && self.state == .empty
            ? accountState.isRemoved ? Self.tokensRemoved : Self.tokensKilled
            : isBoundElsewhere
                ? Self.boundElsewhere : record?.failureRecord?.reason ?? failure?.word
        self.issue =
            switch self.state {
            // Such tokens belong to another client and are neither used nor refreshed.
            case .reauthorizationRequired where isBoundElsewhere: nil
            case .refreshing, .backingOff, .valid, .expired, .reauthorizationRequired:
                isConfigured
                    ? accountState.issue(gate, now: moment)
                        ?? timing.flatMap { accountState.overdueIssue($0, now: moment) }
                    : nil
            case .killed, .unreadable, .empty: nil
            }
        self.scopes = record?.tokens?.scopes ?? []
    }
}

/// The reason why an account's tokens could not be imported, adopted or forgotten. Two errors are equal if their codes
/// are equal.
package struct AccountChangeError: Error, Sendable {
    /// The reason, for programs.
    package enum Code: String, Sendable {
        /// The configuration has no such account.
        case notConfigured
        /// The account's tokens are minted, so there is nothing to import.
        case minted
        /// The kill switch is on, or the tokens were killed.
        case killed
        /// Another subject signed in than before.
        case subjectDiffers
        /// A token is empty, has characters that no token may have, or is the client's secret.
        case invalidTokens
        /// The account has tokens already, and the import is not to replace any.
        case exists
        /// The family has as many accounts as it may have.
        case familyFull
        /// The stored record can't be decrypted or parsed. It is kept.
        case unreadable
        /// The store is unreachable or can't be written, or other writers were faster each time.
        case storeLost
    }

    package let code: Code
    /// For the operator: what failed, on which object, and what would help.
    package let message: String
    /// Whether the change may have been made all the same: the store did not say what has become of a write.
    package let mayBeDone: Bool

    package init(_ code: Code, _ message: String, mayBeDone: Bool = false) {
        self.code = code
        self.message = message
        self.mayBeDone = mayBeDone
    }

    init(_ account: AccountID, _ cause: StoreError, mayBeDone: Bool = false) {
        self.init(
            cause.code == .unreadable ? .unreadable : .storeLost,
            "the record of account \(account) could not be changed: \(cause.message)",
            mayBeDone: mayBeDone
        )
    }
}

extension AccountChangeError: Equatable {
    package static func == (left: AccountChangeError, right: AccountChangeError) -> Bool { left.code == right.code }
}
