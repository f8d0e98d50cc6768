package import TokenModel
package import TokenStorage

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
