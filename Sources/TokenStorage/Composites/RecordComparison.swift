/// One key at which two stores differ.
package struct RecordDifference: Equatable, Sendable {
    package let key: RecordKey
    /// The record of the source; `nil` if it has none.
    package let source: StoredRecord?
    /// The record of the target; `nil` if it has none.
    package let target: StoredRecord?

    package init(key: RecordKey, source: StoredRecord?, target: StoredRecord?) {
        self.key = key
        self.source = source
        self.target = target
    }
}

/// A comparison of all records of two stores, by merging their ordered listings.
///
/// Both stores may be in use meanwhile, and their pages show different moments. So a difference is a hint to look again,
/// and a key that is written or removed during the comparison may or may not appear as one. A key whose records differ
/// throughout appears exactly once.
package struct RecordComparison: Sendable {
    private let source: any TokenStore
    private let target: any TokenStore

    /// - Parameters:
    ///   - target: the store that should hold the same records.
    ///   - source: the store whose records count.
    package init(of target: any TokenStore, with source: any TokenStore) {
        self.source = source
        self.target = target
    }

    /// Calls `body` with each key under `prefix` at which the stores differ: one has no record, or its version or value
    /// is another. The keys come in the order of their UTF-8 bytes. Keeps one page of each store in memory. `body` may
    /// write to both stores.
    ///
    /// - Parameters:
    ///   - leavingOut: the keys that are not compared.
    ///   - compared: called after each record of the source, with the number of those that were passed.
    /// - Throws: any error of a store or of `body`.
    package func forEachDifference(
        under prefix: RecordKey.Prefix,
        leavingOut: (RecordKey) -> Bool = { _ in false },
        compared: (Int) -> Void = { _ in },
        _ body: (RecordDifference) async throws(StoreError) -> Void
    ) async throws(StoreError) {
        var source = RecordCursor(self.source, prefix)
        var target = RecordCursor(self.target, prefix)
        var passed = 0
        while true {
            // Both are read before they are compared: a record of the one stands for none of the other only if that
            // one's listing is past its key.
            let (left, right) = (try await source.next(), try await target.next())
            guard let key = [left?.key, right?.key].compactMap({ $0 }).min() else { return }
            let ours = left?.key == key ? left?.stored : nil
            let theirs = right?.key == key ? right?.stored : nil
            if ours != nil { source.advance() }
            if theirs != nil { target.advance() }
            guard !leavingOut(key) else { continue }
            if ours != theirs { try await body(RecordDifference(key: key, source: ours, target: theirs)) }
            guard ours != nil else { continue }
            passed += 1
            compared(passed)
        }
    }
}

/// A position in the listing of a store.
private struct RecordCursor {
    private let store: any TokenStore
    private let prefix: RecordKey.Prefix
    private var page: ArraySlice<KeyedRecord> = []
    private var last: RecordKey?
    private var isAtEnd = false

    init(_ store: any TokenStore, _ prefix: RecordKey.Prefix) {
        self.store = store
        self.prefix = prefix
    }

    /// The record at this position; `nil` at the end. Only an empty page is the end of a listing.
    mutating func next() async throws(StoreError) -> KeyedRecord? {
        if self.page.isEmpty, !self.isAtEnd {
            let page = try await self.store.records(
                under: self.prefix,
                after: self.last,
                limit: StoreGuarantees.listing
            )
            self.page = page[...]
            self.last = page.last?.key ?? self.last
            self.isAtEnd = page.isEmpty
        }
        return self.page.first
    }

    /// Goes behind the record of this position.
    mutating func advance() { self.page.removeFirst() }
}
