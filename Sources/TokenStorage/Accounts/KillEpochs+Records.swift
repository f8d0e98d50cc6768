package import TokenModel

/// Judging an account's record: a kill is about it by each provider that it is or was bound to.
extension KillEpochs {
    /// Judges a record, or an account that has none, also by the provider that the configuration names now.
    package func verdict(
        on record: AccountRecord?,
        of account: AccountID,
        at provider: ProviderID
    ) -> Verdict {
        self.verdict(
            on: record.map { self.counted($0.observedEpoch, by: $0.observedEntry) } ?? self.last,
            of: account,
            at: provider,
            formerly: record?.providers ?? []
        )
    }

    /// The last entry that killed a record's tokens; `nil` where they live.
    package func killer(of record: AccountRecord, _ account: AccountID) -> Epoch? {
        self.killer(
            of: self.counted(record.observedEpoch, by: record.observedEntry),
            of: account,
            at: record.binding.provider,
            formerly: record.formerProviders
        )
    }

    /// What took tokens of a record, or of an account that has none, likewise.
    package func invalidation(
        on record: AccountRecord?,
        of account: AccountID,
        at provider: ProviderID
    ) -> Invalidation {
        self.invalidation(of: account, at: Set([provider] + (record?.providers ?? [])))
    }
}

extension AccountRecord {
    /// Stamps tokens whose writer goes by `epochs`.
    package mutating func observedEpoch(by epochs: KillEpochs) {
        guard epochs.last >= self.observedEpoch else { return }
        self.observedEpoch = epochs.last
        self.observedEntry = epochs.lastEntry
    }

    /// The providers that the grant is and was bound to.
    package var providers: [ProviderID] { [self.binding.provider] + self.formerProviders }

    /// Binds the grant to another provider, token endpoint or client, and remembers the provider before.
    package mutating func bind(to binding: Binding) {
        self.remember([self.binding.provider], boundTo: binding.provider)
        self.binding = binding
    }

    /// Takes over what the record that this one is written over knows, and this one does not: killed tokens of the account
    /// and, where it is of the same grant, the providers that it was bound to.
    package mutating func keepHistory(of other: AccountRecord) {
        self.rememberKilled(of: other)
        if other.grant == self.grant { self.remember(other.providers, boundTo: self.binding.provider) }
    }

    private mutating func remember(_ providers: [ProviderID], boundTo provider: ProviderID) {
        for former in providers where !self.formerProviders.contains(former) { self.formerProviders.append(former) }
        self.formerProviders.removeAll { $0 == provider }
    }
}
