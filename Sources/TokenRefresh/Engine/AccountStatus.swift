package import TokenModel
internal import TokenStorage

/// An account as an operator is shown it; never a token.
package struct AccountStatus: Equatable, Sendable {
    /// The first that holds.
    package enum State: String, Sendable, CaseIterable {
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
    /// One word, of the provider's or ours; `nil` after a success.
    package let lastError: String?
    /// What was granted, where the provider said.
    package let scopes: [String]
}

extension AccountStatus {
    /// Reads the status off what a process knows.
    ///
    /// - Parameter isHeld: whether the provider is asked nothing at the moment.
    init<Waiter>(_ desk: AccountDesk<Waiter>, isConfigured: Bool, isHeld: Bool, now: BootInstant) {
        let record = desk.sight?.entry?.record
        let isUsable = desk.sight?.freshness.isUsable(at: now) ?? false
        let retryAt = desk.sight?.retryAt ?? .distantPast
        self.account = desk.account
        self.provider = isConfigured ? desk.binding.provider : record?.binding.provider ?? desk.binding.provider
        self.isConfigured = isConfigured
        if desk.unreadable != nil {
            self.state = .unreadable
        } else if record?.tokens != nil, record?.binding != desk.binding || record?.trouble?.dead == true {
            self.state = .reauthorizationRequired
        } else if record?.tokens == nil {
            self.state = .empty
        } else if desk.isFlying || record?.claim != nil {
            self.state = .refreshing
        } else if now < retryAt || (isHeld && !isUsable) {
            self.state = .backingOff
        } else {
            self.state = isUsable ? .valid : .expired
        }
        self.expiresAt = record?.tokens.flatMap { $0.accessToken == nil ? nil : $0.expiresAt }
        self.generation = record?.generation ?? .none
        self.lastRefreshAt = record?.refreshedAt
        self.lastError = record?.trouble?.reason ?? desk.lastError?.code.rawValue
        self.scopes = record?.tokens?.scopes ?? []
    }
}
