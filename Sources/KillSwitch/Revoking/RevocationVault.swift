internal import OAuth
internal import TokenModel
internal import TokenStorage

/// Killed tokens in the store: those that are to be revoked, and apart from them, by kill, what came of the others. So
/// neither finding what is to be done nor a kill's report reads all that ever was.
struct RevocationVault: Sendable {
    private let records: SealedRecords

    init(_ records: SealedRecords) { self.records = records }

    /// A record, and which write it is.
    struct Entry: Sendable {
        let record: RevocationRecord
        let version: Version
    }

    /// Writes down the tokens of a record that are to be revoked, if they are dead by `epochs`.
    func takeAway(
        _ record: AccountRecord,
        of account: AccountID,
        _ epochs: KillEpochs,
        at now: WallTime
    ) async throws(StoreError) {
        guard let epoch = epochs.killer(of: record, account) else { return }
        for revocation in RevocationRecord.tokens(of: record, account, killedBy: epoch, at: now) {
            guard let key = self.key(of: revocation) else { continue }
            do throws(StoreError) {
                _ = try await self.records.write(revocation.encoded(), at: key, expecting: nil)
            } catch {
                guard error.code == .conflict else { throw error }
            }
        }
    }

    /// Where a token waits, whoever has found it: it is named by itself, as two tokens may be of one generation where a claim
    /// was broken. `nil` once it is erased.
    func key(of revocation: RevocationRecord) -> RecordKey? {
        revocation.token.map { .revocation(self.records.storeID.name(of: $0)) }
    }

    /// Those that are to be revoked.
    func open() async throws(StoreError) -> [RecordKey] {
        var keys: [RecordKey] = []
        try await self.records.store.forEachRecord(under: .revocations) { (record) async throws(StoreError) in
            keys.append(record.key)
        }
        return keys
    }

    /// Those of `account`: refresh tokens before access tokens, and of these the first taken first.
    func open(of account: AccountID) async throws(StoreError) -> [(key: RecordKey, record: RevocationRecord)] {
        var found: [(key: RecordKey, record: RevocationRecord)] = []
        try await self.forEach(under: .revocations) { if $1.account == account { found.append(($0, $1)) } }
        return found.sorted {
            ($1.record.kind.rawValue, $0.record.takenAt) < ($0.record.kind.rawValue, $1.record.takenAt)
        }
    }

    /// One of those; `nil` where it has been settled.
    func read(_ key: RecordKey) async throws(StoreError) -> Entry? {
        guard let stored = try await self.records.read(key) else { return nil }
        return Entry(record: try RevocationRecord(decoding: stored.plaintext), version: stored.version)
    }

    /// - Returns: `nil` where another has written meanwhile.
    func write(
        _ record: RevocationRecord,
        at key: RecordKey,
        expecting: Version
    ) async throws(StoreError) -> Version? {
        do throws(StoreError) {
            return try await self.records.write(record.encoded(), at: key, expecting: expecting)
        } catch {
            guard error.code == .conflict else { throw error }
            return nil
        }
    }

    /// Keeps what came of a token, and erases the token. Where the process ends in between, the provider is asked again.
    func settle(
        _ record: RevocationRecord,
        at key: RecordKey,
        expecting: Version
    ) async throws(StoreError) {
        var settled = record
        settled.token = nil
        let place = RecordKey.revoked(Self.id(of: key), by: record.epoch.rawValue)
        do throws(StoreError) {
            _ = try await self.records.write(settled.encoded(), at: place, expecting: nil)
        } catch {
            guard error.code == .conflict else { throw error }
        }
        do throws(StoreError) {
            try await self.records.store.remove(key, expecting: expecting)
        } catch {
            // Another has settled it, or asks just now.
            guard error.code == .conflict else { throw error }
        }
    }

    /// Each token that the kill numbered `epoch` took away, once, by where it waits or would.
    func all(of epoch: Epoch) async throws(StoreError) -> [RecordKey: RevocationRecord] {
        var found: [RecordKey: RevocationRecord] = [:]
        // A token that is settled in the meantime is found in the second list. An earlier version named it by its generation.
        try await self.forEach(under: .revocations) { if $1.epoch == epoch { found[self.key(of: $1) ?? $0] = $1 } }
        try await self.forEach(under: .revoked(by: epoch.rawValue)) { found[.revocation(Self.id(of: $0))] = $1 }
        return found
    }

    /// What stands under `prefix` and opens: a report that leaves out one that does not open is worth more than none.
    private func forEach(
        under prefix: RecordKey.Prefix,
        _ body: (RecordKey, RevocationRecord) -> Void
    ) async throws(StoreError) {
        try await self.records.store.forEachRecord(under: prefix) { (found) async throws(StoreError) in
            do throws(StoreError) {
                let plaintext = try self.records.open(found.stored, at: found.key).plaintext
                body(found.key, try RevocationRecord(decoding: plaintext))
            } catch {
                guard error.code == .unreadable else { throw error }
            }
        }
    }

    private static func id(of key: RecordKey) -> String {
        key.rawValue.split(separator: "/").last.map(String.init) ?? key.rawValue
    }
}
