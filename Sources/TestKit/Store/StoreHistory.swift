package import TokenModel
package import TokenStorage

/// The records of a store and the order of its commits. With it a test can read the store as it was some commits ago,
/// and remove the last commits as a failover does.
package struct StoreHistory: Sendable {
    private struct Commit: Sendable {
        let key: RecordKey
        /// The record at the key before the commit.
        let before: StoredRecord?
        let isRemoval: Bool
    }

    private var records: [RecordKey: StoredRecord] = [:]
    private var commits: [Commit] = []

    package init() {}

    /// The number of writes and removals that have been committed and not lost.
    package var count: Int { self.commits.count }

    /// The keys of the writes that are not lost, in the order of the commits. Removals are left out.
    package var written: [RecordKey] { self.commits.filter { !$0.isRemoval }.map(\.key) }

    /// The record at `key` as it was before the last `age` commits.
    package func record(_ key: RecordKey, age: Int = 0) -> StoredRecord? {
        let first = self.commits.suffix(age).first { $0.key == key }
        return first.map(\.before) ?? self.records[key]
    }

    /// All keys that have a record now, or had one before the last `age` commits.
    package func keys(age: Int = 0) -> Set<RecordKey> {
        Set(self.records.keys).union(self.commits.suffix(age).map(\.key))
    }

    /// Puts `record` at `key`, or removes the record there if `record` is nil. The current version must be
    /// `expecting`.
    ///
    /// - Throws: ``StoreError/Code/conflict`` if the current version differs.
    package mutating func commit(
        _ record: StoredRecord?,
        at key: RecordKey,
        expecting: Version?
    ) throws(StoreError) {
        let current = self.records[key]
        guard current?.version == expecting else { throw .conflict(current) }
        self.commits.append(Commit(key: key, before: current, isRemoval: record == nil))
        self.records[key] = record
    }

    /// Undoes the last `count` commits, even if they were acknowledged.
    package mutating func lose(_ count: Int) {
        for _ in 0..<min(count, self.commits.count) {
            let commit = self.commits.removeLast()
            self.records[commit.key] = commit.before
        }
    }

    /// Removes the record at `key` and keeps all later commits. No store may lose a record that way.
    package mutating func erase(_ key: RecordKey) { self.records[key] = nil }
}
