package import TokenModel
package import TokenStorage

/// Where a snapshot stands: at number 1 of the log, in place of the entry.
struct KillLogSnapshotHeader: Equatable, Sendable {
    /// Of its pages.
    let id: String
    let last: Epoch
    let pages: Int

    /// Above those of ``KillEntry``.
    private static let format: UInt8 = 3

    func encoded() -> Secret {
        let writer = FieldWriter(format: Self.format)
        writer.write(self.id)
        writer.write(self.last.rawValue)
        writer.write(UInt32(clamping: self.pages))
        return writer.finish()
    }

    init(id: String, last: Epoch, pages: Int) {
        self.id = id
        self.last = last
        self.pages = pages
    }

    /// `nil` where the bytes are an entry.
    init?(ifIn bytes: Secret) throws(StoreError) {
        var reader = try FieldReader(bytes, formats: .min ... .max)
        guard reader.format == Self.format else { return nil }
        self.id = try reader.read()
        self.last = Epoch(rawValue: try reader.read())
        self.pages = Int(try reader.read(UInt32.self))
        try reader.finish()
    }
}

/// A part of a snapshot that fits into a record.
private struct KillLogSnapshotPage {
    var entries: [NumberedKillEntry] = []
    var imports: [KillEntry.Replacement] = []

    private static let format: UInt8 = 1
    /// In bytes. An entry is smaller than a record, and one that is nearly as large has a page of its own.
    private static let fullSize = 40 << 10

    init() {}

    /// The pages of a snapshot.
    static func pages(of snapshot: KillLogSnapshot) -> [KillLogSnapshotPage] {
        var pages = [KillLogSnapshotPage()]
        var size = 0
        func makeRoom(for count: Int) {
            if size > 0, size + count > Self.fullSize {
                pages.append(KillLogSnapshotPage())
                size = 0
            }
            size += count
        }
        for numbered in snapshot.entries {
            makeRoom(for: numbered.entry.encoded().count + 12)
            pages[pages.count - 1].entries.append(numbered)
        }
        for (account, grant) in snapshot.imports.sorted(by: { $0.key < $1.key }) {
            makeRoom(for: account.rawValue.utf8.count + grant.rawValue.utf8.count + 8)
            pages[pages.count - 1].imports.append(KillEntry.Replacement(account: account, grant: grant))
        }
        return pages
    }

    func encoded() -> Secret {
        let writer = FieldWriter(format: Self.format)
        writer.write(self.entries) { numbered in
            writer.write(numbered.epoch.rawValue)
            writer.write(numbered.entry.encoded())
        }
        writer.write(self.imports) { replacement in
            writer.write(replacement.account.rawValue)
            writer.write(replacement.grant.rawValue)
        }
        return writer.finish()
    }

    init(decoding bytes: Secret) throws(StoreError) {
        var reader = try FieldReader(bytes, formats: Self.format...Self.format)
        self.entries = try reader.readArray { reader throws(StoreError) in
            let epoch = Epoch(rawValue: try reader.read())
            return NumberedKillEntry(epoch: epoch, entry: try KillEntry(decoding: try reader.read()))
        }
        self.imports = try reader.readArray { reader throws(StoreError) in
            KillEntry.Replacement(
                account: AccountID(rawValue: try reader.read()),
                grant: GrantID(rawValue: try reader.read())
            )
        }
        try reader.finish()
    }
}

/// A snapshot in place of a log's beginning, so that the log does not grow with what nobody needs any more.
///
/// Pages are written first, under an id of their own; then number 1 of the log is made to name them, by compare-and-set:
/// from there on they count. The entries go last, but for the one that the snapshot ends with: by it a replica finds that
/// the log is the one that it knows. Whatever is cut off in between leaves a log that says the same as before.
extension KillLog {
    /// Puts `snapshot` in place of the entries that it is of. Each of them must stand in the store.
    ///
    /// - Returns: up to which number the log is folded now, by this call or an earlier one.
    /// - Throws: ``StoreError/Code/conflict`` where another folds it at the same time.
    package func fold(_ snapshot: KillLogSnapshot) async throws(StoreError) -> Epoch {
        guard let first = try await self.log.item(1) else { return .start }
        var present: [RecordKey] = []
        if case .snapshot(let header) = try self.open(first) {
            guard header.last < snapshot.last else { return header.last }
            present = (0..<header.pages).map { .killSnapshotPage($0, of: header.id) }
        }
        // Of the snapshot before the present one, or of a call that was cut off: the present one's stay until the next call, as
        // a failover may have number 1 name them again. Listed before that is written: whoever has begun a page by then, and
        // not ended, fails at that.
        let former = try await self.pageKeys().filter { !present.contains($0.key) }
        let id = KillID.random().rawValue
        let pages = KillLogSnapshotPage.pages(of: snapshot)
        for (index, page) in pages.enumerated() {
            _ = try await self.log.records.write(
                page.encoded(),
                at: .killSnapshotPage(index, of: id),
                expecting: nil
            )
        }
        let header = KillLogSnapshotHeader(id: id, last: snapshot.last, pages: pages.count)
        try await self.log.replace(first, with: header.encoded())
        for page in former { try await self.remove(page) }
        return snapshot.last
    }

    /// Removes entries that a snapshot has taken the place of, also those that an earlier process has left.
    package func removeFolded() async throws(StoreError) {
        guard let last = try await self.foldedUpTo() else { return }
        // Mostly there is nothing left of it, and one record tells.
        var limit = 1
        // A long log is many writes: a call that is cut off leaves the rest to the next.
        while !Task.isCancelled {
            let page = try await self.log.page(behind: 1, limit: limit)
            let folded = page.prefix { $0.number < last.rawValue }
            if folded.isEmpty { return }
            // Several at once, so that a store can commit them together: kills wait for the same disk.
            let log = self.log
            try await folded.readEach { (item: NumberedLog.Item) async throws(StoreError) in
                if !Task.isCancelled { try await log.remove(item) }
            } found: { _, _ in
            }
            limit = 500
        }
    }

    /// The number of the last entry that a snapshot has taken the place of; `nil` where there is no snapshot.
    package func foldedUpTo() async throws(StoreError) -> Epoch? {
        guard let first = try await self.log.item(1) else { return nil }
        guard case .snapshot(let header) = try self.open(first) else { return nil }
        return header.last
    }

    /// - Returns: `nil` where a page is missing: another snapshot has taken its place.
    func snapshot(_ header: KillLogSnapshotHeader) async throws(StoreError) -> KillLogSnapshot? {
        var snapshot = KillLogSnapshot.none
        for index in 0..<header.pages {
            let key = RecordKey.killSnapshotPage(index, of: header.id)
            guard let stored = try await self.log.records.read(key) else { return nil }
            let page = try KillLogSnapshotPage(decoding: stored.plaintext)
            snapshot.entries += page.entries
            for replacement in page.imports { snapshot.imports[replacement.account] = replacement.grant }
        }
        guard snapshot.last == header.last else {
            throw StoreError(.unreadable, "the kill log's snapshot ends with another entry than it says")
        }
        return snapshot
    }

    private func pageKeys() async throws(StoreError) -> [(key: RecordKey, version: Version)] {
        var keys: [(key: RecordKey, version: Version)] = []
        try await self.log.records.store.forEachRecord(under: .killSnapshots) { (record) async throws(StoreError) in
            keys.append((record.key, record.stored.version))
        }
        return keys
    }

    private func remove(_ page: (key: RecordKey, version: Version)) async throws(StoreError) {
        do throws(StoreError) {
            try await self.log.records.store.remove(page.key, expecting: page.version)
        } catch {
            guard error.code == .conflict else { throw error }
        }
    }
}

/// Keeps the kill log short: folds what every replica has read, where that is worth it, and removes what was folded.
package struct KillLogKeeper: Sendable {
    private let log: KillLog
    private let replicas: ReplicaVault
    private let fewest: Int

    /// - Parameter fewest: so many entries are worth it, see ``FencedLog/foldableUpTo(read:fewest:)``.
    package init(_ log: KillLog, _ replicas: ReplicaVault, fewest: Int = 1_000) {
        self.log = log
        self.replicas = replicas
        self.fewest = fewest
    }

    /// - Parameter known: the log as this process goes by it.
    /// - Returns: up to which number the log in the store is folded, where that was looked at.
    package func fold(_ known: FencedLog) async throws(StoreError) -> Epoch? {
        var folded: Epoch?
        if known.foldableUpTo(read: [], fewest: self.fewest) != nil {
            let listing = try await self.replicas.list()
            // One that is expelled reads all of the log before it puts a token into a request again.
            let read = listing.entries.filter { !$0.record.isExpelled }.map(\.record.acknowledged)
            if listing.unreadable.isEmpty, let last = known.foldableUpTo(read: read, fewest: self.fewest) {
                folded = try await self.fold(known.contents, upTo: last)
            }
        }
        if folded != nil || known.contents.snapshot != .none { try await self.log.removeFolded() }
        return folded
    }

    /// - Returns: `nil` where another does it, or the store has lost entries: what a snapshot is made of must stand there.
    private func fold(_ known: KillLogContents, upTo last: Epoch) async throws(StoreError) -> Epoch? {
        do throws(StoreError) {
            let standing = try await self.log.contents()
            guard standing.last >= last, standing.agrees(with: known) else { return nil }
            return try await self.log.fold(standing.folded(upTo: last).snapshot)
        } catch {
            guard error.code == .conflict else { throw error }
            return nil
        }
    }
}
