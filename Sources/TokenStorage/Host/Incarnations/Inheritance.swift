package import TokenModel

/// What was done with the journals of incarnations that have ended.
package struct Inheritance: Equatable, Sendable {
    /// Boots that were found to have ended, and were not known to.
    package var incarnations = 0
    /// Successes that the store has now.
    package var committed = 0
    /// Entries that the store was not owed any more.
    package var dropped = 0
    /// Entries that stay in their journals, since the store does not take them or does not open the account's record.
    package var left = 0
    /// Entries that stay in their journals, since they do not open here: their key is missing, or a newer version wrote
    /// them.
    package var unopened = 0
    /// The keys that are missing for them.
    package var missingKeys: Set<SealingKey.ID> = []

    package init() {}

    static func + (left: Inheritance, right: Inheritance) -> Inheritance {
        var sum = left
        sum.incarnations += right.incarnations
        sum.committed += right.committed
        sum.dropped += right.dropped
        sum.left += right.left
        sum.unopened += right.unopened
        sum.missingKeys.formUnion(right.missingKeys)
        return sum
    }

    /// Whether nothing stays in the journal.
    var isWhole: Bool { self.left == 0 && self.unopened == 0 }
}

/// What becomes of new tokens that the store has no place for any more: another grant or a later generation stands there.
///
/// - Throws: where that can't be settled now. They stay in their journal.
package typealias TokenDisposal = @Sendable (AccountRecord, AccountID) async throws(StoreError) -> Void

extension AccountVault {
    /// Commits what an incarnation that has ended still owed to the store, and hands to `dispose` what it has no place for.
    func inherit(_ entries: [JournalEntry], _ dispose: TokenDisposal) async -> Inheritance {
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

    /// Commits again what the store had acknowledged, where it has lost that since.
    func restore(_ settled: [JournalEntry]) async -> Inheritance {
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
        /// It was there already.
        case stood
        case dropped
    }

    /// - Returns: `nil` where the store can't say, or takes nothing.
    private func inherit(_ entry: JournalEntry, _ dispose: TokenDisposal) async -> Ending? {
        for _ in 0..<Self.mostTries {
            do throws(StoreError) {
                let stored = try await self.read(entry.account)
                var record = entry.record
                if let stored { record.keepHistory(of: stored.record) }
                // A write whose answer was lost may stand.
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
