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

    /// Writes down that a token of `record` is to be revoked, under a name that it has whoever finds it.
    func writeDown(_ revocation: RevocationRecord, of record: AccountRecord) async throws(StoreError) {
        let id = Self.id(of: revocation.kind, in: record)
        do throws(StoreError) {
            _ = try await self.records.write(revocation.encoded(), at: .revocation(id), expecting: nil)
        } catch {
            guard error.code == .conflict else { throw error }
        }
    }

    /// Those that are to be revoked.
    func open() async throws(StoreError) -> [RecordKey] { try await self.records.store.allKeys(under: .revocations) }

    /// Those of `account`: refresh tokens before access tokens, and of these the first taken first.
    func open(of account: AccountID) async throws(StoreError) -> [(key: RecordKey, record: RevocationRecord)] {
        var found: [(key: RecordKey, record: RevocationRecord)] = []
        for key in try await self.open() {
            guard let record = try await self.readIfOpens(key), record.account == account else { continue }
            found.append((key, record))
        }
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

    /// Under what a token of `record` is written down, whoever does.
    static func id(of kind: RevocableToken, in record: AccountRecord) -> String {
        "\(record.grant)-\(record.generation)-\(kind.rawValue)"
    }

    /// Each token that the kill numbered `epoch` took away, once, by what it is written down under.
    func all(of epoch: Epoch) async throws(StoreError) -> [String: RevocationRecord] {
        var found: [String: RevocationRecord] = [:]
        // A token that is settled in the meantime is found in the second list.
        for key in try await self.open() {
            guard let record = try await self.readIfOpens(key), record.epoch == epoch else { continue }
            found[Self.id(of: key)] = record
        }
        for key in try await self.records.store.allKeys(under: .revoked(by: epoch.rawValue)) {
            guard let record = try await self.readIfOpens(key) else { continue }
            found[Self.id(of: key)] = record
        }
        return found
    }

    /// A report that leaves out one that does not open is worth more than none.
    private func readIfOpens(_ key: RecordKey) async throws(StoreError) -> RevocationRecord? {
        do throws(StoreError) {
            return try await self.read(key)?.record
        } catch {
            guard error.code == .unreadable else { throw error }
            return nil
        }
    }

    private static func id(of key: RecordKey) -> String {
        key.rawValue.split(separator: "/").last.map(String.init) ?? key.rawValue
    }
}
