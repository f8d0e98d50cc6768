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
        let found = try await self.read(self.open()) { $0.account == account }
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
        Self.id(of: kind, in: TokenMark(grant: record.grant, generation: record.generation))
    }

    private static func id(of kind: RevocableToken, in mark: TokenMark) -> String {
        "\(mark.grant)-\(mark.generation)-\(kind.rawValue)"
    }

    /// Where the tokens of the set `mark` wait, if they do.
    static func keys(of mark: TokenMark) -> [RecordKey] {
        RevocableToken.allCases.map { .revocation(Self.id(of: $0, in: mark)) }
    }

    /// Each token that the kill numbered `epoch` took away, once, by what it is written down under.
    func all(of epoch: Epoch) async throws(StoreError) -> [String: RevocationRecord] {
        var found: [String: RevocationRecord] = [:]
        // A token that is settled in the meantime is found in the second list.
        let open = try await self.read(self.open()) { $0.epoch == epoch }
        for (key, record) in open { found[Self.id(of: key)] = record }
        let settled = try await self.records.store.allKeys(under: .revoked(by: epoch.rawValue))
        for (key, record) in try await self.read(settled, where: { _ in true }) { found[Self.id(of: key)] = record }
        return found
    }

    /// Of what stands at `keys` and opens that which is wanted, in no order. Read some at a time, as there may be many.
    private func read(
        _ keys: [RecordKey],
        where isWanted: @Sendable (RevocationRecord) -> Bool
    ) async throws(StoreError) -> [(key: RecordKey, record: RevocationRecord)] {
        var rest = keys.makeIterator()
        let found: Result<[(key: RecordKey, record: RevocationRecord)], StoreError> = await withTaskGroup(
            of: (RecordKey, Result<RevocationRecord?, StoreError>).self
        ) { reads in
            for key in (0..<Self.mostReadsAtOnce).compactMap({ _ in rest.next() }) {
                reads.addTask { await (key, self.result(at: key)) }
            }
            var found: [(key: RecordKey, record: RevocationRecord)] = []
            for await (key, read) in reads {
                switch read {
                case .success(let record): if let record, isWanted(record) { found.append((key, record)) }
                case .failure(let error): return .failure(error)
                }
                if let key = rest.next() { reads.addTask { await (key, self.result(at: key)) } }
            }
            return .success(found)
        }
        return try found.get()
    }

    private static let mostReadsAtOnce = 16

    private func result(at key: RecordKey) async -> Result<RevocationRecord?, StoreError> {
        do throws(StoreError) { return .success(try await self.readIfOpens(key)) } catch { return .failure(error) }
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
