package import TokenModel

/// The accounts' records of one store, sealed and opened on the way.
package struct AccountVault: Sendable {
    private let records: SealedRecords

    /// The accounts of the store called `storeID`, under its keys.
    package init(store: any TokenStore, keyRing: KeyRing, storeID: StoreID) {
        self.init(SealedRecords(store: store, keyRing: keyRing, storeID: storeID))
    }

    /// The accounts among a store's records.
    package init(_ records: SealedRecords) {
        self.records = records
    }

    /// A record and which write it is: what the next write expects.
    package struct Entry: Equatable, Sendable {
        package var record: AccountRecord
        package var version: Version

        package init(record: AccountRecord, version: Version) {
            self.record = record
            self.version = version
        }
    }

    /// What is stored for an account; `nil` where nothing ever was.
    ///
    /// - Throws: ``StoreError/Code/unreadable`` for a record that does not open. It stays where it is: an account that
    ///   can't be read is not one without tokens.
    package func read(_ account: AccountID) async throws(StoreError) -> Entry? {
        let key = RecordKey.account(account.rawValue)
        guard let entry = try await self.records.read(key) else { return nil }
        return try self.decode(entry)
    }

    /// Opens what a conflict carried.
    ///
    /// - Throws: ``StoreError/Code/unreadable``, as ``read(_:)`` does.
    package func open(_ stored: StoredRecord, of account: AccountID) throws(StoreError) -> Entry {
        try self.decode(try self.records.open(stored, at: .account(account.rawValue)))
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
        try await self.records.write(record.encoded(), at: .account(account.rawValue), expecting: expecting)
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
        let key = RecordKey.account(account.rawValue)
        try await self.records.write(record.encoded(), at: key, as: version, expecting: expecting)
    }

    /// All accounts that have a record, in the order of their names' bytes.
    package func accounts() async throws(StoreError) -> [AccountID] {
        try await self.records.store.allKeys(under: .accounts).compactMap(AccountID.init(key:))
    }

    /// Accounts whose record may have changed, by anyone: hints, as ``TokenStore/changes()`` gives them.
    package func changes() -> AsyncStream<AccountID> {
        let keys = self.records.store.changes()
        let (accounts, continuation) = AsyncStream.makeStream(
            of: AccountID.self,
            bufferingPolicy: .bufferingNewest(ChangeBroadcaster.bufferLimit)
        )
        // Belongs to the stream: it ends with its last reader, and ends the stream with the store's.
        let forwarding = Task {
            for await key in keys {
                if let account = AccountID(key: key) { continuation.yield(account) }
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in forwarding.cancel() }
        return accounts
    }

    private func decode(_ entry: SealedRecords.Entry) throws(StoreError) -> Entry {
        Entry(record: try AccountRecord(decoding: entry.plaintext), version: entry.version)
    }
}

extension AccountID {
    /// The account whose record stands at `key`, if it is one.
    fileprivate init?(key: RecordKey) {
        guard RecordKey.Prefix.accounts.contains(key) else { return nil }
        self.init(rawValue: String(key.rawValue.dropFirst(RecordKey.Prefix.accounts.rawValue.count)))
    }
}
