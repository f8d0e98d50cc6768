package import TokenModel
package import TokenStorage

/// What a process remembers of a stored account while nobody uses it: enough to say whether the account exists, which
/// state it is in and when its refresh token must be used, and none of its tokens.
package struct IndexedAccount: Equatable, Sendable {
    /// What the record holds.
    package enum Content: UInt8, Sendable {
        /// Unknown: another process wrote the record, and this one has not read it since.
        case unread
        /// The record does not open.
        case unreadable
        /// Tokens, which may be used or refreshed.
        case tokens
        /// Tokens whose grant is dead, or which were issued for another provider or client.
        case deadGrant
        /// No tokens: a kill took them.
        case empty
        /// No tokens: an operator removed them, so the account does not exist any more.
        case removed
    }

    package private(set) var content: Content
    /// The version of the record; `nil` if it is unknown.
    package private(set) var version: Version?
    /// The provider that the tokens were issued for.
    package private(set) var provider: ProviderID
    private var formerProviders: [ProviderID] = []
    private var observedEpoch: Epoch
    /// The end of the access token.
    private var usableUntil = BootInstant.distantPast
    /// By when the refresh token should be used.
    private var lastUse = BootInstant.distantFuture
    /// The end of the backoff.
    private var retryAt = BootInstant.distantPast
    /// Drawn once, so that the time of the next refresh stays the same however often the record is read.
    package let jitter: Double
    /// When this process first saw the account; `nil` if it has not read the record yet. Refreshes that were due long ago
    /// are spread over a time from then on.
    package private(set) var firstSeenAt: BootInstant?

    /// A record that another process wrote.
    ///
    /// - Parameter provider: the one that the configuration names; `nil` if it does not have the account.
    package init(unreadAt version: Version?, provider: ProviderID?, jitter: Double) {
        self.content = .unread
        self.version = version
        self.provider = provider ?? ProviderID("")
        self.observedEpoch = .start
        self.jitter = jitter
    }

    /// The same account after another process wrote its record as `version`, which this process has not read yet.
    package func changed(to version: Version?) -> IndexedAccount {
        var changed = self
        changed.version = version
        // It may have been imported again.
        if self.content == .removed { changed.content = .unread }
        return changed
    }

    /// A record that does not open, of an account of `provider`.
    package init(unreadable provider: ProviderID, jitter: Double) {
        self.init(unreadAt: nil, provider: provider, jitter: jitter)
        self.content = .unreadable
    }

    /// - Parameters:
    ///   - binding: the provider and client of the configuration; `nil` if it does not have the account.
    ///   - timing: when the account is refreshed; `nil` if nothing refreshes it.
    package init(
        _ snapshot: RecordSnapshot,
        of account: AccountID,
        bound binding: AccountRecord.Binding?,
        under epochs: KillEpochs,
        timing: RefreshTiming? = nil,
        jitter: Double
    ) {
        let entry = snapshot.entry
        self.version = entry?.version
        self.jitter = jitter
        self.firstSeenAt = snapshot.firstSeenAt
        self.provider = entry?.record.binding.provider ?? binding?.provider ?? ProviderID("")
        self.observedEpoch = .start
        self.content = .removed
        guard let record = entry?.record else { return }
        self.formerProviders = record.formerProviders
        self.observedEpoch = epochs.counted(record.observedEpoch, by: record.observedEntry)
        self.usableUntil = snapshot.freshness.usableUntil ?? .distantPast
        self.retryAt = snapshot.retryAt ?? .distantPast
        if record.tokens == nil {
            // A sweep may have taken the tokens before the removal could.
            let endsWithRemoval = epochs.invalidation(on: record, of: account, at: self.provider).endWithRemoval
            self.content = record.isRemoved || endsWithRemoval ? .removed : .empty
        } else {
            let isOurs = binding.map { record.binding.match($0) == .same } ?? true
            self.content = isOurs && record.failureRecord?.endsGrant != true ? .tokens : .deadGrant
            if self.content == .tokens { self.lastUse = timing?.lastUse(of: snapshot) ?? .distantFuture }
        }
    }

    /// Whether the account exists: it was imported or signed in, and not removed since.
    package var exists: Bool { self.content != .removed }

    /// Whether the refresh token should have been used by now.
    package func isOverdue(at now: BootInstant) -> Bool { self.lastUse < now }

    /// The account's state while no refresh of it is in progress.
    ///
    /// - Parameters:
    ///   - configured: the provider that the configuration names; `nil` if it does not have the account.
    ///   - isHeld: whether nothing but a probe is sent to that provider.
    package func state(
        of account: AccountID,
        at configured: ProviderID?,
        under epochs: KillEpochs,
        isHeld: Bool,
        now: BootInstant
    ) -> AccountStatus.State {
        let verdict = epochs.verdict(
            on: self.content == .removed ? epochs.last : self.observedEpoch,
            of: account,
            at: configured ?? self.provider,
            formerly: [self.provider] + self.formerProviders
        )
        if verdict == .killed { return .killed }
        switch self.content {
        case .unreadable: return .unreadable
        case .empty, .removed: return .empty
        case .tokens, .deadGrant, .unread: break
        }
        if verdict == .dead, self.content != .unread { return .empty }
        if self.content == .deadGrant { return .reauthorizationRequired }
        let isUsable = now < self.usableUntil
        if now < self.retryAt || isHeld && !isUsable { return .backingOff }
        return isUsable ? .valid : .expired
    }
}
