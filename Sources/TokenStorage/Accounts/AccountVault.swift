package import TokenModel

/// The accounts' records of one store, sealed and opened on the way.
package struct AccountVault: Sendable {
    private let vault: RecordVault<AccountRecord>

    /// The accounts of the store called `storeID`, under its keys.
    package init(store: any TokenStore, keyRing: KeyRing, storeID: StoreID) {
        self.init(SealedRecords(store: store, keyRing: keyRing, storeID: storeID))
    }

    /// The accounts among a store's records.
    package init(_ records: SealedRecords) {
        self.vault = RecordVault(records)
    }

    /// What the store promises.
    package var guarantees: StoreGuarantees { self.store.guarantees }

    /// The version that a write behind `expecting` names.
    package func version(behind expecting: Version?) -> Version { self.guarantees.version(behind: expecting) }

    private var store: any TokenStore { self.vault.records.store }

    /// A record and which write it is: what the next write expects.
    package typealias Entry = StoredEntry<AccountRecord>

    /// What is stored for an account; `nil` where nothing ever was.
    ///
    /// - Throws: ``StoreError/Code/unreadable`` for a record that does not open. It stays where it is: an account that
    ///   can't be read is not one without tokens.
    package func read(_ account: AccountID) async throws(StoreError) -> Entry? {
        try await self.vault.read(.account(account.rawValue))
    }

    /// Opens what a conflict carried.
    ///
    /// - Throws: ``StoreError/Code/unreadable``, as ``read(_:)`` does.
    package func open(_ stored: StoredRecord, of account: AccountID) throws(StoreError) -> Entry {
        try self.vault.open(stored, at: .account(account.rawValue))
    }

    /// Writes behind version `expecting` (`nil`: there is no record yet).
    ///
    /// - Returns: the version written.
    /// - Throws: ``StoreError/Code/conflict`` with the sealed record that is there (see ``open(_:of:)``);
    ///   ``StoreError/Code/invalid`` for tokens too large to be stored.
    package func write(
        _ record: AccountRecord,
        for account: AccountID,
        expecting: Version?
    ) async throws(StoreError) -> Version {
        try await self.vault.write(record, at: .account(account.rawValue), expecting: expecting)
    }

    /// Writes as `version`, which must be larger than any that was ever read or written there, behind version `expecting`.
    ///
    /// - Throws: as ``write(_:for:expecting:)``.
    package func write(
        _ record: AccountRecord,
        for account: AccountID,
        as version: Version,
        expecting: Version?
    ) async throws(StoreError) {
        try await self.vault.write(record, at: .account(account.rawValue), as: version, expecting: expecting)
    }

    /// All accounts that have a record, in the order of their names' bytes.
    package func accounts() async throws(StoreError) -> [AccountID] {
        var accounts: [AccountID] = []
        try await self.store.forEachRecord(under: .accounts) { (record) async throws(StoreError) in
            if let account = AccountID(key: record.key) { accounts.append(account) }
        }
        return accounts
    }

    /// Calls `body` with each record that opens, in the order of the accounts' names' bytes, a page at a time.
    package func forEach(_ body: (AccountID, Entry) -> Void) async throws(StoreError) {
        try await self.vault.forEach(under: .accounts) { key, entry in
            if let account = AccountID(key: key) { body(account, entry) }
        }
    }

    /// Which write the record of each account is: a page of them in the order of their names' bytes, behind `after`. An
    /// empty one is the end.
    package func versions(
        behind after: AccountID?
    ) async throws(StoreError) -> [(account: AccountID, version: Version)] {
        let last = after.map { RecordKey.account($0.rawValue) }
        return try await self.store.records(under: .accounts, after: last, limit: 500).compactMap { record in
            AccountID(key: record.key).map { ($0, record.stored.version) }
        }
    }

    /// A hint that an account's record was changed, as ``RecordChange`` is one.
    package struct Change: Equatable, Sendable {
        package let account: AccountID
        package let version: Version?
    }

    /// Accounts whose record may have changed, by anyone: hints, as ``TokenStore/changes()`` gives them.
    package func changes() -> AsyncStream<Change> {
        let changes = self.store.changes()
        let (ours, continuation) = AsyncStream.makeStream(
            of: Change.self,
            bufferingPolicy: .bufferingNewest(ChangeBroadcaster.bufferLimit)
        )
        // Belongs to the stream: it ends with its last reader, and ends the stream with the store's.
        let forwarding = Task {
            for await change in changes {
                guard let account = AccountID(key: change.key) else { continue }
                continuation.yield(Change(account: account, version: change.version))
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in forwarding.cancel() }
        return ours
    }
}

extension AccountID {
    /// The account whose record stands at `key`, if it is one.
    fileprivate init?(key: RecordKey) {
        guard RecordKey.Prefix.accounts.contains(key) else { return nil }
        self.init(rawValue: String(key.rawValue.dropFirst(RecordKey.Prefix.accounts.rawValue.count)))
    }
}
