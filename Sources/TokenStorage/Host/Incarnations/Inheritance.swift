package import TokenModel

/// What was done with the journals of ended incarnations.
package struct Inheritance: Equatable, Sendable {
    /// The number of incarnations newly found to have ended otherwise than in order.
    package var incarnations = 0
    /// The number of successes that the store now has.
    package var committed = 0
    /// The number of entries that the store no longer needed.
    package var dropped = 0
    /// The number of entries that stay in their journals because the store does not take them or the account's record
    /// does not open.
    package var left = 0
    /// The number of entries that stay in their journals because they do not open here: their key is missing, or a
    /// newer version wrote them.
    package var unopened = 0
    /// The missing keys of these entries.
    package var missingKeys: Set<SealingKey.ID> = []

    package init() {}

    package static func + (left: Inheritance, right: Inheritance) -> Inheritance {
        var sum = left
        sum.incarnations += right.incarnations
        sum.committed += right.committed
        sum.dropped += right.dropped
        sum.left += right.left
        sum.unopened += right.unopened
        sum.missingKeys.formUnion(right.missingKeys)
        return sum
    }

    /// Whether no entry stays in a journal.
    package var isWhole: Bool { self.left == 0 && self.unopened == 0 }
}

/// Handles new tokens that the store no longer accepts, because it has another grant or a later generation.
///
/// - Throws: if this can't be done now. The tokens stay in their journal.
package typealias TokenDisposal = @Sendable (AccountRecord, AccountID) async throws(StoreError) -> Void

extension AccountVault {
    /// Commits the entries that an ended incarnation has not yet committed, and passes to `dispose` the tokens that the
    /// store no longer accepts.
    package func inherit(_ entries: [JournalEntry], _ dispose: TokenDisposal) async -> Inheritance {
        var sum = Inheritance()
        for entry in entries {
            switch await self.inherit(entry, dispose) {
            case .committed?, .stood?: sum.committed += 1
            case .dropped?: sum.dropped += 1
            case nil: sum.left += 1
            }
        }
        return sum
    }

    /// Commits entries again that the store had acknowledged and has lost since.
    package func restore(_ settled: [JournalEntry]) async -> Inheritance {
        var sum = Inheritance()
        for entry in settled {
            switch await self.inherit(entry, { _, _ in }) {
            case .committed?: sum.committed += 1
            case .stood?, .dropped?: break
            case nil: sum.left += 1
            }
        }
        return sum
    }

    private enum Ending {
        case committed
        /// The record was there already.
        case stood
        case dropped
    }

    /// - Returns: `nil` if the store can't be read or written.
    private func inherit(_ entry: JournalEntry, _ dispose: TokenDisposal) async -> Ending? {
        for _ in 0..<Self.mostTries {
            do throws(StoreError) {
                let stored = try await self.read(entry.account)
                var record = entry.record
                if let stored { record.keepHistory(of: stored.record) }
                // A write whose response was lost may have succeeded.
                if stored?.record == record { return .stood }
                guard entry.isOwed(to: stored?.record) else {
                    try await dispose(record, entry.account)
                    return .dropped
                }
                _ = try await self.write(record, for: entry.account, expecting: stored?.version)
                return .committed
            } catch {
                guard error.code == .conflict else { return nil }
            }
        }
        return nil
    }

    private static var mostTries: Int { 8 }
}
