package import TokenModel

/// Keeps new tokens on this host's disk while the store does not take them, past the end of this process.
package protocol SuccessJournal: Sendable {
    /// Writes `record` down.
    ///
    /// - Returns: where it stands, once it would survive a loss of power; `nil` where it can't be written.
    func keep(_ record: AccountRecord, for account: AccountID) async -> JournalPlace?

    /// Forgets what stands at `place`: the store has it, or something better.
    func release(_ place: JournalPlace) async
}

/// Blocks of a journal that belong together.
package struct JournalPlace: Hashable, Sendable {
    package let blocks: Range<Int>

    package init(blocks: Range<Int>) { self.blocks = blocks }
}
