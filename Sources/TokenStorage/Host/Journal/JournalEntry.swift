package import TokenModel

/// A success that a store would not take: the account, and the record that it is to have.
package struct JournalEntry: Equatable, Sendable {
    package let account: AccountID
    package let record: AccountRecord

    package init(account: AccountID, record: AccountRecord) {
        self.account = account
        self.record = record
    }

    private static let format: UInt8 = 1

    /// As bytes to seal.
    package func encoded() -> Secret {
        let writer = FieldWriter(format: Self.format)
        writer.write(self.account.rawValue)
        writer.write(self.record.encoded())
        return writer.finish()
    }

    /// Reads what ``encoded()`` wrote.
    package init(decoding bytes: Secret) throws(StoreError) {
        var reader = try FieldReader(bytes, formats: Self.format...Self.format)
        self.account = AccountID(rawValue: try reader.read())
        self.record = try AccountRecord(decoding: try reader.read())
        try reader.finish()
    }

    /// Whether the store is still owed this: what stands there is the same grant, and no token set as late as this one. It
    /// may be claimed, declared dead or adopted for another client since: all less than tokens in hand.
    ///
    /// - Parameter stored: `nil` where nothing stands: records are never removed, so the store has lost it.
    package func isOwed(to stored: AccountRecord?) -> Bool {
        guard let stored else { return true }
        return stored.grant == self.record.grant && stored.generation < self.record.generation
    }
}
