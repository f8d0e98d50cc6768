package import TokenModel

/// The account records of one store, sealed on write and opened on read.
package struct AccountVault: Sendable {
    private let vault: RecordVault<AccountRecord>
    /// How often the store was moved away when this process opened it (``StorePlace/moves``); `nil`: that is not looked at.
    private let moves: (@Sendable () -> UInt64)?

    /// The accounts of the store `storeID`, under the keys of `keyRing`.
    package init(store: any TokenStore, keyRing: KeyRing, storeID: StoreID) {
        self.init(SealedRecords(store: store, keyRing: keyRing, storeID: storeID))
    }

    /// The accounts among the records of a store.
    ///
    /// - Parameter moves: how often the store was moved away when this process opened it; `nil`: that is not looked at.
    package init(_ records: SealedRecords, moves: (@Sendable () -> UInt64)? = nil) {
        self.vault = RecordVault(records)
        self.moves = moves
    }

    /// The guarantees of the store.
    package var guarantees: StoreGuarantees { self.store.guarantees }

    /// The version for a write that replaces version `expecting`.
    package func version(behind expecting: Version?) -> Version { self.guarantees.version(behind: expecting) }

    private var store: any TokenStore { self.vault.records.store }

    /// A record and its version, which the next write expects.
    package typealias Entry = StoredEntry<AccountRecord>

    /// The record of an account; `nil` if there has never been one.
    ///
    /// - Throws: ``StoreError/Code/unreadable`` for a record that does not open. It stays in the store: an account that
    ///   can't be read is not an account without tokens.
    package func read(_ account: AccountID) async throws(StoreError) -> Entry? {
        let found = try await self.vault.read(.account(account.rawValue))
        if found == nil { try await self.expectHere() }
        return found
    }

    /// A process that stood still while the others moved the records to another store finds none here, and must not write a
    /// new one: a token that was written here now would be lost.
    private func expectHere() async throws(StoreError) {
        guard let moves = self.moves, let place = try await StorePlace.read(self.vault.records), place.moves != moves()
        else { return }
        throw StoreError(.unreachable, "the records were moved to another store, without this process")
    }

    /// Passes on what a write throws, unless it is due to a move.
    private func checking<Value>(
        _ expecting: Version?,
        _ write: () async throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        do throws(StoreError) {
            let value = try await write()
            // After the write: its outcome counts only if the records were here until then.
            if expecting == nil { try await self.expectHere() }
            return value
        } catch {
            if error.code == .conflict, error.current == nil { try await self.expectHere() }
            throw error
        }
    }

    /// Opens the stored record that a conflict returned.
    ///
    /// - Throws: ``StoreError/Code/unreadable``, as ``read(_:)`` does.
    package func open(_ stored: StoredRecord, of account: AccountID) throws(StoreError) -> Entry {
        try self.vault.open(stored, at: .account(account.rawValue))
    }

    /// Writes a record that replaces version `expecting` (`nil`: there is no record yet).
    ///
    /// - Returns: the version written.
    /// - Throws: ``StoreError/Code/conflict`` with the sealed record that is there (see ``open(_:of:)``);
    ///   ``StoreError/Code/invalid`` for tokens that are too large to store.
    package func write(
        _ record: AccountRecord,
        for account: AccountID,
        expecting: Version?
    ) async throws(StoreError) -> Version {
        try await self.checking(expecting) { () async throws(StoreError) in
            try await self.vault.write(record, at: .account(account.rawValue), expecting: expecting)
        }
    }

    /// Writes a record as `version`, which must be greater than any version read or written for the account before, in
    /// place of version `expecting`.
    ///
    /// - Throws: as ``write(_:for:expecting:)``.
    package func write(
        _ record: AccountRecord,
        for account: AccountID,
        as version: Version,
        expecting: Version?
    ) async throws(StoreError) {
        try await self.checking(expecting) { () async throws(StoreError) in
            try await self.vault.write(record, at: .account(account.rawValue), as: version, expecting: expecting)
        }
    }

    /// All accounts that have a record, in the byte order of their names.
    package func accounts() async throws(StoreError) -> [AccountID] {
        var accounts: [AccountID] = []
        try await self.store.forEachRecord(under: .accounts) { (record) async throws(StoreError) in
            if let account = AccountID(key: record.key) { accounts.append(account) }
        }
        return accounts
    }

    /// Calls `body` with each record that opens, and `unreadable` with the account of each that does not, in the byte
    /// order of the account names. Reads a page at a time.
    package func forEach(
        unreadable: (AccountID) -> Void = { _ in },
        _ body: (AccountID, Entry) -> Void
    ) async throws(StoreError) {
        try await self.vault.forEach(under: .accounts) { key in
            if let account = AccountID(key: key) { unreadable(account) }
        } _: { key, entry in
            if let account = AccountID(key: key) { body(account, entry) }
        }
    }

    /// A page of accounts and the versions of their records, in the byte order of the account names, beginning after
    /// `after`. An empty page is the end.
    package func versions(
        behind after: AccountID?
    ) async throws(StoreError) -> [(account: AccountID, version: Version)] {
        let last = after.map { RecordKey.account($0.rawValue) }
        let page = try await self.store.records(under: .accounts, after: last, limit: StoreGuarantees.listing)
        return page.compactMap { record in AccountID(key: record.key).map { ($0, record.stored.version) } }
    }

    /// A page of the records that open, in the byte order of the account names, beginning after `after`.
    ///
    /// - Returns: also the last account of the page, where the next one goes on; `nil` after the last page.
    package func page(
        after: AccountID?
    ) async throws(StoreError) -> (entries: [(account: AccountID, entry: Entry)], last: AccountID?) {
        let page = try await self.vault.page(under: .accounts, after: after.map { .account($0.rawValue) })
        let entries = page.entries.compactMap { key, entry in AccountID(key: key).map { ($0, entry) } }
        return (entries, page.last.flatMap { AccountID(key: $0) })
    }

    /// A hint that an account's record was changed; see ``RecordChange``.
    package struct Change: Equatable, Sendable {
        package let account: AccountID
        package let version: Version?
    }

    /// A stream of hints about accounts whose record may have changed, as ``TokenStore/changes()`` gives them.
    ///
    /// - Parameter reconnected: called for ``RecordChange/everything`` and ``RecordChange/anotherServer``, and with whether
    ///   it is the latter: at once, however many hints wait to be read.
    package func changes(
        reconnected: @escaping @Sendable (_ isAnotherServer: Bool) -> Void = { _ in }
    ) -> AsyncStream<Change> {
        let changes = self.store.changes()
        let (ours, continuation) = AsyncStream.makeStream(
            of: Change.self,
            bufferingPolicy: .bufferingNewest(ChangeBroadcaster.bufferLimit)
        )
        // This task belongs to the stream: it is cancelled when the stream's reader ends, and it ends the stream when
        // the store's stream ends.
        let forwarding = Task(executorPreference: OwnedTasks.executor) {
            for await change in changes {
                if change == .everything || change == .anotherServer { reconnected(change == .anotherServer) }
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
    /// The account whose record is at `key`; `nil` if `key` is not an account's.
    fileprivate init?(key: RecordKey) {
        guard RecordKey.Prefix.accounts.contains(key) else { return nil }
        self.init(rawValue: String(key.rawValue.dropFirst(RecordKey.Prefix.accounts.rawValue.count)))
    }
}
