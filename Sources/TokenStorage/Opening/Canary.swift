package import TokenModel

/// The record that names a store, and that opens only under the right key: it refuses a start that could read nothing.
package struct Canary: Equatable, Sendable {
    /// Whose records stand beside it.
    package let storeID: StoreID

    /// For a store that has none yet.
    package init(storeID: StoreID) {
        self.storeID = storeID
    }

    private static let format: UInt8 = 1

    /// The canary is what says which store it is, so it can't be sealed for one.
    static func context(_ version: Version) -> SealingContext {
        SealingContext(store: StoreID(rawValue: ""), key: .canary, version: version)
    }

    /// As it is stored as `version`.
    package func sealed(with keyRing: KeyRing, as version: Version) throws(StoreError) -> SealedBytes {
        let writer = FieldWriter(format: Self.format)
        writer.write(self.storeID.rawValue)
        return try keyRing.seal(writer.finish(), for: Self.context(version))
    }

    /// Opens what is stored.
    ///
    /// - Throws: ``StoreError/Code/unreadable`` under any other key than its own.
    package init(opening stored: StoredRecord, with keyRing: KeyRing) throws(StoreError) {
        let plaintext = try keyRing.open(stored.value, for: Self.context(stored.version))
        var reader = try FieldReader(plaintext, formats: Self.format...Self.format)
        self.storeID = StoreID(rawValue: try reader.read())
        try reader.finish()
    }
}
