package import TokenModel
package import TokenStorage

/// The records of a store, and the order in which they came to be: so a test can see the store as it was some commits ago,
/// and take the last commits away as a failover does.
package struct StoreHistory: Sendable {
    private struct Commit: Sendable {
        let key: RecordKey
        /// What stood there until then.
        let before: StoredRecord?
        let isRemoval: Bool
    }

    private var records: [RecordKey: StoredRecord] = [:]
    private var commits: [Commit] = []

    package init() {}

    /// How many writes and removals have been committed and not lost.
    package var count: Int { self.commits.count }

    /// What was written and not lost, in that order; removals are left out.
    package var written: [RecordKey] { self.commits.filter { !$0.isRemoval }.map(\.key) }

    /// The record at `key` as it was before the last `age` commits.
    package func record(_ key: RecordKey, age: Int = 0) -> StoredRecord? {
        let first = self.commits.suffix(age).first { $0.key == key }
        return first.map(\.before) ?? self.records[key]
    }

    /// All keys that have a record, or had one before the last `age` commits.
    package func keys(age: Int = 0) -> Set<RecordKey> {
        Set(self.records.keys).union(self.commits.suffix(age).map(\.key))
    }

    /// Puts `record` at `key`, or removes what is there, if the version there is `expecting`.
    ///
    /// - Throws: ``StoreError/Code/conflict`` where it is another.
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

    /// Takes the last `count` commits back, whoever was told that they stand.
    package mutating func lose(_ count: Int) {
        for _ in 0..<min(count, self.commits.count) {
            let commit = self.commits.removeLast()
            self.records[commit.key] = commit.before
        }
    }

    /// Takes the record at `key` away, and leaves what came after it: a hole, such as no store may make.
    package mutating func erase(_ key: RecordKey) { self.records[key] = nil }
}
