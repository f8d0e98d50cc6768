package import TokenModel

/// Verdicts on account records. A kill of any provider that a record is or was bound to applies to the record.
extension KillEpochs {
    /// The verdict on a record, or on an account without one. A kill of `provider`, which the configuration names now,
    /// counts too.
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

    /// The number of the last entry that killed the tokens of a record; `nil` if they are alive.
    package func killer(of record: AccountRecord, _ account: AccountID) -> Epoch? {
        self.killer(
            of: self.counted(record.observedEpoch, by: record.observedEntry),
            of: account,
            at: record.binding.provider,
            formerly: record.formerProviders
        )
    }

    /// The last kill and the last removal that invalidated tokens of a record, or of an account without one. The same
    /// providers count as in ``verdict(on:of:at:)``.
    package func invalidation(
        on record: AccountRecord?,
        of account: AccountID,
        at provider: ProviderID
    ) -> Invalidation {
        self.invalidation(of: account, at: Set([provider] + (record?.providers ?? [])))
    }
}

extension AccountRecord {
    /// Stamps the tokens with the epoch that their writer has read.
    package mutating func observedEpoch(by epochs: KillEpochs) {
        guard epochs.last >= self.observedEpoch else { return }
        self.observedEpoch = epochs.last
        self.observedEntry = epochs.lastEntry
    }

    /// The current and former providers of the grant.
    package var providers: [ProviderID] { [self.binding.provider] + self.formerProviders }

    /// Binds the grant to another provider, token endpoint or client, and remembers the former provider.
    package mutating func bind(to binding: Binding) {
        self.remember([self.binding.provider], boundTo: binding.provider)
        self.binding = binding
    }

    /// Copies what `other`, the record that this one replaces, remembers and this one does not: killed tokens of the
    /// account and, for the same grant, former providers.
    package mutating func keepHistory(of other: AccountRecord) {
        self.rememberKilled(of: other)
        self.rememberImports(other.imported.filter { !self.imported.contains($0) })
        if other.grant == self.grant { self.remember(other.providers, boundTo: self.binding.provider) }
    }

    private mutating func remember(_ providers: [ProviderID], boundTo provider: ProviderID) {
        for former in providers where !self.formerProviders.contains(former) { self.formerProviders.append(former) }
        self.formerProviders.removeAll { $0 == provider }
    }
}
