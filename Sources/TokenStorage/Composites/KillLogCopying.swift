/// Copies the kill log of a store to the store that its records are moved to, entry by entry with the same numbers, and the
/// record that names the store. Another run copies what has come since.
///
/// The target may have an older part of the same log: it was moved away from before.
struct KillLogCopying: Sendable {
    private let source: any TokenStore
    private let target: any TokenStore

    init(from source: any TokenStore, to target: any TokenStore) {
        self.source = source
        self.target = target
    }

    /// - Parameter expectUnused: throws if the target is in use, so that nothing may be replaced there.
    func run(expectUnused: () async throws(StoreError) -> Void) async throws(StoreError) {
        let comparison = RecordComparison(of: self.target, with: self.source)
        // An entry that names a snapshot comes after the snapshot.
        for prefix in [RecordKey.Prefix.killSnapshots, .kills] {
            try await comparison.forEachDifference(under: prefix) { difference throws(StoreError) in
                try await self.copy(difference, expectUnused)
            }
        }
        let (canary, there) = (try await self.source.read(.canary), try await self.target.read(.canary))
        guard canary != there, there.map({ old in canary.map { old.version < $0.version } ?? false }) ?? true else {
            return
        }
        try await self.copy(RecordDifference(key: .canary, source: canary, target: there), expectUnused)
    }

    private func copy(
        _ difference: RecordDifference,
        _ expectUnused: () async throws(StoreError) -> Void
    ) async throws(StoreError) {
        guard let record = difference.source else { return }
        var expected = difference.target?.version
        do throws(StoreError) {
            if let there = expected, there >= record.version {
                // It was written too late, when the target had been moved away before. A version must grow.
                try await expectUnused()
                try await self.target.remove(difference.key, expecting: there)
                expected = nil
            }
            try await self.target.write(
                record.value,
                at: difference.key,
                as: record.version,
                expecting: expected
            )
        } catch {
            // Another replica has copied it, or goes on already.
            guard error.code == .conflict else { throw error }
        }
    }
}
