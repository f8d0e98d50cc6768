internal import OAuth
internal import TokenModel
internal import TokenStorage

/// Killed tokens in the store: those to be revoked, and apart from them, by kill, the outcomes of the others. So
/// neither finding tokens to revoke nor a kill's report reads all tokens there ever were.
struct RevocationVault: Sendable {
    private let vault: RecordVault<RevocationRecord>

    init(_ records: SealedRecords) { self.vault = RecordVault(records) }

    /// Stores the tokens of a record for revocation, if `epochs` kills them.
    func storeForRevocation(
        _ record: AccountRecord,
        of account: AccountID,
        _ epochs: KillEpochs,
        at now: WallTime
    ) async throws(StoreError) {
        guard let epoch = epochs.killer(of: record, account) else { return }
        try await self.store(record, of: account, takenBy: epoch, at: now)
    }

    /// Stores tokens for revocation that never came into an account's record. They count for the kill that covers them, if
    /// there is one, otherwise for no kill.
    func storeForRevocation(
        dropped record: AccountRecord,
        of account: AccountID,
        _ epochs: KillEpochs,
        at now: WallTime
    ) async throws(StoreError) {
        try await self.store(record, of: account, takenBy: epochs.killer(of: record, account) ?? .start, at: now)
    }

    private func store(
        _ record: AccountRecord,
        of account: AccountID,
        takenBy epoch: Epoch,
        at now: WallTime
    ) async throws(StoreError) {
        for revocation in RevocationRecord.tokens(of: record, account, killedBy: epoch, at: now) {
            if let key = self.key(of: revocation) { try await self.vault.put(revocation, at: key) }
        }
    }

    /// The key under which a token waits, whichever process has found it. The token itself determines the key, because
    /// two tokens may be of one generation after a claim was broken. `nil` once the token is erased.
    func key(of revocation: RevocationRecord) -> RecordKey? {
        revocation.token.map { .revocation(self.vault.records.storeID.name(of: $0)) }
    }

    /// The keys of the tokens that are to be revoked.
    func open() async throws(StoreError) -> [RecordKey] {
        var keys: [RecordKey] = []
        try await self.vault.records.store.forEachRecord(under: .revocations) { (record) async throws(StoreError) in
            keys.append(record.key)
        }
        return keys
    }

    /// Those of `account`: refresh tokens before access tokens, and within each kind in the order in which they were
    /// taken.
    func open(of account: AccountID) async throws(StoreError) -> [(key: RecordKey, record: RevocationRecord)] {
        var found: [(key: RecordKey, record: RevocationRecord)] = []
        try await self.vault.forEach(under: .revocations) { key, entry in
            if entry.record.account == account { found.append((key, entry.record)) }
        }
        return found.sorted {
            ($1.record.kind.rawValue, $0.record.takenAt) < ($0.record.kind.rawValue, $1.record.takenAt)
        }
    }

    /// One of those; `nil` where it is settled.
    func read(_ key: RecordKey) async throws(StoreError) -> StoredEntry<RevocationRecord>? {
        try await self.vault.read(key)
    }

    /// - Returns: `nil` where another process has written meanwhile.
    func write(
        _ record: RevocationRecord,
        at key: RecordKey,
        expecting: Version
    ) async throws(StoreError) -> Version? {
        do throws(StoreError) {
            return try await self.vault.write(record, at: key, expecting: expecting)
        } catch {
            guard error.code == .conflict else { throw error }
            return nil
        }
    }

    /// Keeps the outcome of a token, and erases the token. If the process ends in between, the provider is asked again.
    func settle(
        _ record: RevocationRecord,
        at key: RecordKey,
        expecting: Version
    ) async throws(StoreError) {
        // No kill reports what a dropped token came to.
        if record.epoch != .start {
            var settled = record
            settled.token = nil
            try await self.vault.put(settled, at: .revoked(Self.id(of: key), by: record.epoch.rawValue))
        }
        // Another process may have settled it, or may be asking right now.
        try await self.vault.remove(key, expecting: expecting)
    }

    /// Every token that the kill numbered `epoch` took away, once, by the key under which it waits or would wait.
    func all(of epoch: Epoch) async throws(StoreError) -> [RecordKey: RevocationRecord] {
        var found: [RecordKey: RevocationRecord] = [:]
        // A token that is settled meanwhile is found in the second list. An earlier version used the generation as the
        // key. A record that does not open is left out: a report without it is better than none.
        try await self.vault.forEach(under: .revocations) { key, entry in
            if entry.record.epoch == epoch { found[self.key(of: entry.record) ?? key] = entry.record }
        }
        try await self.vault.forEach(under: .revoked(by: epoch.rawValue)) { key, entry in
            found[.revocation(Self.id(of: key))] = entry.record
        }
        return found
    }

    private static func id(of key: RecordKey) -> String {
        key.rawValue.split(separator: "/").last.map(String.init) ?? key.rawValue
    }
}
