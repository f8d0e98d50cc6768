package import TokenModel

/// The place a sealed record belongs to. It is authenticated with the record and not stored in it, so that a row put
/// anywhere else (another account's, another store's, an older write's) does not open.
package struct SealingContext: Hashable, Sendable {
    package var store: StoreID
    package var key: RecordKey
    package var version: Version

    package init(store: StoreID, key: RecordKey, version: Version) {
        self.store = store
        self.key = key
        self.version = version
    }

    /// The three, each with its length before it, so that no two places read alike.
    var associatedData: [UInt8] {
        var bytes: [UInt8] = []
        for field in [
            Array(self.store.rawValue.utf8), Array(self.key.rawValue.utf8), self.version.rawValue.bigEndianBytes,
        ] {
            bytes += UInt32(truncatingIfNeeded: field.count).bigEndianBytes
            bytes += field
        }
        return bytes
    }
}

extension FixedWidthInteger {
    /// The most significant byte first.
    var bigEndianBytes: [UInt8] {
        (0..<Self.bitWidth / 8).reversed().map { UInt8(truncatingIfNeeded: self >> ($0 * 8)) }
    }
}
