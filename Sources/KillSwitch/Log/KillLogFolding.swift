package import TokenModel
package import TokenStorage

/// The header of a snapshot, at number 1 of the log in place of the entry.
struct KillLogSnapshotHeader: Equatable, Sendable {
    /// The ID of its pages.
    let id: String
    let last: Epoch
    let pages: Int

    /// Higher than the formats of ``KillEntry``.
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

/// A part of a snapshot that fits into one record.
private struct KillLogSnapshotPage {
    var entries: [NumberedKillEntry] = []
    var imports: [KillEntry.Replacement] = []

    private static let format: UInt8 = 1
    /// In bytes. An entry is smaller than a record; an entry that is nearly as large gets a page of its own.
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

/// Replaces the beginning of the log by a snapshot, so that the log does not grow with entries that no replica needs.
///
/// The pages are written first, under a new ID. Then a compare-and-set makes number 1 of the log name them, and they
/// take effect. The entries are removed last, except the one that the snapshot ends with: by that entry a replica
/// recognizes the log. A fold that is cut off at any point leaves a log that says the same as before. The entries are
/// removed only when number 1 has stood for so long that no failover loses it: none would be left of them.
///
/// A failover between the pages and number 1 can lose the pages alone. Every process that knows the log can write a
/// snapshot in their place (``restoreSnapshot(knowing:)``).
extension KillLog {
    /// Replaces the entries that `snapshot` covers by the snapshot. Each of them must be in the store.
    ///
    /// - Returns: the number up to which the log is now folded, by this call or an earlier one.
    /// - Throws: ``StoreError/Code/conflict`` where another process folds the log at the same time.
    package func fold(_ snapshot: KillLogSnapshot) async throws(StoreError) -> Epoch {
        guard let first = try await self.log.item(1) else { return .start }
        var present: [RecordKey] = []
        if case .snapshot(let header) = try self.open(first) {
            guard header.last < snapshot.last else { return header.last }
            present = (0..<header.pages).map { .killSnapshotPage($0, of: header.id) }
        }
        // Pages of the snapshot before the present one, or of a call that was cut off. The present snapshot's pages
        // stay until the next call, because a failover may make number 1 name them again. This lists the pages before
        // it replaces number 1: a process that has begun to write pages by then and has not finished fails to replace
        // number 1.
        let former = try await self.pageKeys().filter { !present.contains($0.key) }
        try await self.write(snapshot, insteadOf: first)
        // A failover may have come between the pages and number 1.
        _ = try await self.restoreSnapshot(knowing: KillLogContents(snapshot: snapshot, entries: []))
        for page in former { try await self.remove(page) }
        return snapshot.last
    }

    private func write(_ snapshot: KillLogSnapshot, insteadOf first: NumberedLog.Item) async throws(StoreError) {
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
    }

    /// Writes a snapshot in place of one of which the store has lost pages.
    ///
    /// - Parameter known: the log as this process has applied it.
    /// - Returns: whether pages were missing, and are replaced by this call or another one.
    package func restoreSnapshot(knowing known: KillLogContents) async throws(StoreError) -> Bool {
        guard let first = try await self.log.item(1), case .snapshot(let header) = try self.open(first),
            try await self.snapshot(header) == nil, (known.snapshot.last...known.last).contains(header.last)
        else { return false }
        // The entry that the lost snapshot ends with shows whether it was of this log.
        if let anchor = try await self.entry(header.last), known[header.last].map(anchor.standsFor) != true {
            return false
        }
        do throws(StoreError) {
            try await self.write(known.folded(upTo: header.last).snapshot, insteadOf: first)
        } catch {
            guard error.code == .conflict else { throw error }
        }
        return true
    }

    /// Removes entries that a snapshot has replaced, including those that an earlier process has left.
    ///
    /// - Parameter first: number 1, which names the snapshot. Nothing is removed if it has changed.
    package func removeFolded(by first: NumberedLog.Item) async throws(StoreError) {
        func stands() async throws(StoreError) -> Bool { try await self.log.item(1)?.stored == first.stored }
        // Opened only where it stands: the key of one that does not may be gone.
        guard try await stands(), case .snapshot(let header) = try self.open(first) else { return }
        func folded(limit: Int) async throws(StoreError) -> ArraySlice<NumberedLog.Item> {
            try await self.log.page(behind: 1, limit: limit).prefix { $0.number < header.last.rawValue }
        }
        // Usually nothing is left to remove, and one record shows that.
        guard try await !folded(limit: 1).isEmpty, try await self.snapshot(header) != nil else { return }
        // Removing a long log takes many writes. A call that is cut off leaves the rest to the next.
        while !Task.isCancelled {
            let page = try await folded(limit: 500)
            // Another server may have taken over since.
            guard !page.isEmpty, try await stands() else { return }
            // Removes several at once, so that the store can commit them together: kills wait for the same disk.
            let log = self.log
            try await page.readEach { (item: NumberedLog.Item) async throws(StoreError) in
                if !Task.isCancelled { try await log.remove(item) }
            } found: { _, _ in
            }
        }
    }

    /// The number of the last entry that a snapshot has replaced; `nil` where there is no snapshot.
    package func foldedUpTo() async throws(StoreError) -> Epoch? {
        guard let first = try await self.log.item(1) else { return nil }
        guard case .snapshot(let header) = try self.open(first) else { return nil }
        return header.last
    }

    /// - Returns: `nil` where a page is missing, because another snapshot has replaced this one.
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

/// Keeps the kill log short: folds what every replica has read if that is worth the writes, and removes the folded
/// entries.
package struct KillLogKeeper: Sendable {
    private let log: KillLog
    private let replicas: ReplicaVault
    private let fewest: Int
    /// Number 1 of the log after the last call, if that has ended well: what stands since then.
    private var first: NumberedLog.Item?

    /// - Parameter fewest: the number of entries that is worth a fold, see ``FencedLog/foldableUpTo(read:fewest:)``.
    package init(_ log: KillLog, _ replicas: ReplicaVault, fewest: Int) {
        self.log = log
        self.replicas = replicas
        self.fewest = fewest
    }

    /// To be called if the store is another one or another server now: number 1 may be new there.
    package mutating func forget() { self.first = nil }

    /// Call it once a minute: it removes what was folded at the last call, which no failover loses any more.
    ///
    /// - Parameter known: the log as this process has applied it.
    /// - Returns: the number up to which the log in the store is folded; `nil` where that was not looked at.
    package mutating func fold(_ known: FencedLog) async throws(StoreError) -> Epoch? {
        if let first = self.first.take() { try await self.log.removeFolded(by: first) }
        var folded: Epoch?
        if known.foldableUpTo(read: [], fewest: self.fewest) != nil {
            let listing = try await self.replicas.list()
            // An expelled replica reads the whole log before it puts a token into a request again.
            let read = listing.entries.filter { !$0.record.isExpelled }.map(\.record.acknowledged)
            if listing.unreadable.isEmpty, let last = known.foldableUpTo(read: read, fewest: self.fewest) {
                folded = try await self.fold(known.contents, upTo: last)
            }
        }
        self.first = folded != nil || known.contents.snapshot != .none ? try await self.log.log.item(1) : nil
        return folded
    }

    /// - Returns: `nil` where another process folds the log, or the store has lost entries: what a snapshot covers must
    ///   be in the store.
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
