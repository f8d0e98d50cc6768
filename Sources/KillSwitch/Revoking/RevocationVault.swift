internal import OAuth
internal import TokenModel
internal import TokenStorage

/// Killed tokens in the store: those to be revoked, and apart from them, by kill, the outcomes of the others. So
/// neither finding tokens to revoke nor a kill's report reads all tokens there ever were.
struct RevocationVault: Sendable {
    private let vault: RecordVault<RevocationRecord>

    init(_ records: SealedRecords) { self.vault = RecordVault(records) }

    typealias Page = RecordVault<RevocationRecord>.Page

    /// Stores the tokens of a record for revocation, if `epochs` kills them.
    func storeForRevocation(
        _ record: AccountRecord,
        of account: AccountID,
        _ epochs: KillEpochs,
        at now: WallTime
    ) async throws(StoreError) {
        guard let epoch = epochs.killer(of: record, account) else { return }
        for token in RevocationRecord.tokens(of: record, account, killedBy: epoch, at: now) {
            _ = try await self.put(token)
        }
    }

    /// Stores a token for revocation.
    ///
    /// - Returns: whether it is new. Any process may have stored it before.
    func put(_ revocation: RevocationRecord) async throws(StoreError) -> Bool {
        guard let key = self.key(of: revocation) else { return false }
        do throws(StoreError) {
            _ = try await self.vault.write(revocation, at: key, expecting: nil)
            return true
        } catch {
            guard error.code == .conflict else { throw error }
            return false
        }
    }

    /// The key under which a token waits, whichever process has found it. The token itself determines the key, because
    /// two tokens may be of one generation after a claim was broken. `nil` once the token is erased.
    func key(of revocation: RevocationRecord) -> RecordKey? {
        guard let token = revocation.token else { return nil }
        let store = self.vault.records.storeID
        let prefix = self.lane(of: revocation.binding.provider).tokens(
            revocation.kind,
            of: revocation.account,
            in: store
        )
        return RecordKey(rawValue: prefix.rawValue + store.name(of: token))
    }

    func lane(of provider: ProviderID) -> RevocationLane { RevocationLane(provider, in: self.vault.records.storeID) }

    /// Whether the claim on a token may be broken.
    typealias MayBreak = (AccountRecord.Claim, StoredEntry<RevocationRecord>, RecordKey) async -> Bool

    /// The providers whose tokens wait, by one read for each. Gives tokens of an earlier version their present key, once no
    /// process has a claim on them.
    func lanes(_ mayBreak: MayBreak = { _, _, _ in false }) async throws(StoreError) -> [RevocationLane] {
        var lanes: [RevocationLane] = []
        var after: RecordKey?
        while true {
            let page = try await self.vault.page(under: .revocations, after: after, limit: 1)
            guard let key = page.last else { return lanes }
            if let lane = RevocationLane(key) {
                lanes.append(lane)
                after = lane.end
            } else {
                for (key, entry) in page.entries { try await self.rename(entry, at: key, mayBreak) }
                after = key
            }
        }
    }

    /// A replica of an earlier version that asks about the token settles it under its key.
    private func rename(
        _ entry: StoredEntry<RevocationRecord>,
        at key: RecordKey,
        _ mayBreak: MayBreak
    ) async throws(StoreError) {
        var record = entry.record
        if let claim = record.claim, !(await mayBreak(claim, entry, key)) { return }
        record.claim = nil
        _ = try await self.put(record)
        try await self.vault.remove(key, expecting: entry.version)
    }

    /// A page of waiting tokens.
    func page(under prefix: RecordKey.Prefix, after: RecordKey?) async throws(StoreError) -> Page {
        try await self.vault.page(under: prefix, after: after)
    }

    /// The waiting tokens of `account`: refresh tokens before access tokens, and within each kind in the order in which
    /// they were taken.
    func open(of account: AccountID) async throws(StoreError) -> [(key: RecordKey, record: RevocationRecord)] {
        var found: [(key: RecordKey, record: RevocationRecord)] = []
        let lanes = try await self.lanes()
        for kind in [RevocableToken.refreshToken, .accessToken] {
            var ofKind: [(key: RecordKey, record: RevocationRecord)] = []
            for lane in lanes {
                let prefix = lane.tokens(kind, of: account, in: self.vault.records.storeID)
                try await self.vault.forEach(under: prefix) { ofKind.append(($0, $1.record)) }
            }
            found += ofKind.filter { $0.record.account == account }.sorted { $0.record.takenAt < $1.record.takenAt }
        }
        return found
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
    ///
    /// - Returns: `false` where another process may have settled it, or may be asking right now.
    func settle(
        _ record: RevocationRecord,
        at key: RecordKey,
        expecting: Version
    ) async throws(StoreError) -> Bool {
        // No kill reports what a dropped token came to.
        if record.epoch != .start {
            var settled = record
            settled.token = nil
            try await self.vault.put(settled, at: Self.settledKey(of: key, by: record.epoch))
        }
        do throws(StoreError) {
            try await self.vault.records.store.remove(key, expecting: expecting)
            return true
        } catch {
            guard error.code == .conflict else { throw error }
            return false
        }
    }

    /// A page of the settled tokens that the kill numbered `epoch` took away.
    func settled(by epoch: Epoch, after: RecordKey?, limit: Int) async throws(StoreError) -> Page {
        try await self.vault.page(under: .revoked(by: epoch.rawValue), after: after, limit: limit)
    }

    /// Keeps the account's tokens together.
    static func settledKey(of key: RecordKey, by epoch: Epoch) -> RecordKey {
        let parts = key.rawValue.split(separator: "/")
        guard RevocationLane(key) != nil, parts.count == 5 else {
            return .revoked(parts.last.map(String.init) ?? key.rawValue, by: epoch.rawValue)
        }
        return .revoked("\(parts[3]).\(parts[2]).\(parts[4])", by: epoch.rawValue)
    }
}
