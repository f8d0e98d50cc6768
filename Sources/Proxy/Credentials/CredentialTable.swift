import HTTPCaching
package import TokenModel

/// The last announced credential of each account, whether any route uses it or not: nothing is announced again when a
/// route that uses it is added. Dead credentials are not kept.
package struct CredentialTable: Sendable {
    private var credentials: [AccountID: UpstreamCredential] = [:]
    /// The end of each account's last approval, whether one is required or not.
    private var approvals: [AccountID: BootInstant] = [:]
    /// The gateway is locked: the table is empty, and takes no event.
    private(set) var isLocked = false
    /// The authorization whose stored responses may be used, of each account that has one.
    private var owners: [AccountID: (owner: CacheOwner, provider: ProviderID, formerProviders: [ProviderID])] = [:]
    /// Which tokens are dead.
    package private(set) var epochs = KillEpochs()

    package init() {}

    /// - Returns: whether an authorization has ended whose responses may be stored.
    @discardableResult package mutating func apply(_ event: CredentialEvent) -> Bool {
        guard !self.isLocked else { return false }
        switch event {
        case .installed(let credential):
            guard self.epochs.verdict(on: credential) == .live else { return false }
            self.credentials[credential.account] = credential
            let old = self.owners[credential.account]?.owner
            let owner = CacheOwner(credential)
            self.owners[credential.account] = owner.map { ($0, credential.provider, credential.formerProviders) }
            return old.map { owner?.covers($0) != true } ?? false
        case .lapsed(let account):
            self.credentials[account] = nil
            return false
        // Nothing may grow with the names that were ever used. What is stored for the account may still be used: its
        // next credential brings its owner back.
        case .retired(let account):
            self.credentials[account] = nil
            self.owners[account] = nil
            self.approvals[account] = nil
            return false
        case .dropped(let account):
            self.credentials[account] = nil
            return self.owners.removeValue(forKey: account) != nil
        case .approved(let account, let end):
            self.approvals[account] = end
            return false
        }
    }

    /// Removes everything but the kill log, and takes no event until ``unlock()``.
    package mutating func lock() {
        self.isLocked = true
        self.credentials = [:]
        self.owners = [:]
        self.approvals = [:]
    }

    package mutating func unlock() { self.isLocked = false }

    /// What stands for one account.
    package struct Standing: Sendable {
        package let credential: UpstreamCredential?
        /// The end of the account's last approval.
        package let approvedUntil: BootInstant

        package init(credential: UpstreamCredential? = nil, approvedUntil: BootInstant = .distantPast) {
            self.credential = credential
            self.approvedUntil = approvedUntil
        }
    }

    package func standing(of account: AccountID) -> Standing {
        Standing(credential: self.credentials[account], approvedUntil: self.approvedUntil(account))
    }

    /// The end of an account's last approval.
    func approvedUntil(_ account: AccountID) -> BootInstant { self.approvals[account] ?? .distantPast }

    /// Whether a stored response may still be used.
    func serves(_ owner: CacheOwner, of account: AccountID) -> Bool {
        guard let mine = self.owners[account], mine.owner.covers(owner) else { return false }
        return self.epochs.verdict(
            on: owner.observedEpoch,
            of: account,
            at: mine.provider,
            formerly: mine.formerProviders
        ) == .live
    }

    /// Adopts a kill log, unless it is older than the current one, and drops dead credentials.
    package mutating func fence(_ epochs: KillEpochs) {
        if epochs.last >= self.epochs.last { self.epochs = epochs }
        // Few of many are dead, or all.
        for (account, _) in self.credentials.filter({ self.epochs.verdict(on: $0.value) != .live }) {
            self.credentials[account] = nil
        }
        for (account, _) in self.owners.filter({ !self.serves($0.value.owner, of: $0.key) }) {
            self.owners[account] = nil
        }
    }

    package subscript(account: AccountID) -> UpstreamCredential? { self.credentials[account] }
}
