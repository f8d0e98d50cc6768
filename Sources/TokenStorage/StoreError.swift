package import TokenModel

/// What a store could not do. Equal when the codes are equal.
package struct StoreError: Error, Sendable {
    package enum Code: String, Sendable {
        /// The record is not at the expected version; ``StoreError/current`` is what is there (`nil`: nothing).
        case conflict
        /// No answer within the time; a write may or may not stand.
        case unreachable
        /// The store answers and can't write: a full disk, read-only, lost rights.
        case unwritable
        /// The record, or the whole store, does not open with this key ring, or is not what its place says.
        case unreadable
        /// The store holds less than this host knows it has held: a backup was restored, or acknowledged writes were lost.
        case outdated
        /// A value over 64 KiB, a limit below 1, a version that does not grow.
        case invalid
    }

    package let code: Code
    /// For the operator: what failed, on what, what would help.
    package let message: String
    package let current: StoredRecord?

    package init(_ code: Code, _ message: String, current: StoredRecord? = nil) {
        self.code = code
        self.message = message
        self.current = current
    }

    package static func conflict(_ current: StoredRecord?) -> StoreError {
        StoreError(.conflict, "the record was changed by another writer", current: current)
    }
}

extension StoreError: Equatable {
    package static func == (left: StoreError, right: StoreError) -> Bool { left.code == right.code }
}

extension StoreError: CustomStringConvertible {
    package var description: String { "\(self.code.rawValue): \(self.message)" }
}

extension StoreError {
    /// What every driver refuses before it asks its store.
    ///
    /// - Throws: ``Code/invalid`` for a value over ``SealedBytes/maximumCount`` or a version that does not grow.
    package static func checkWrite(
        _ value: SealedBytes,
        at key: RecordKey,
        as version: Version,
        expecting: Version?
    ) throws(StoreError) {
        guard value.bytes.count <= SealedBytes.maximumCount else {
            throw StoreError(
                .invalid,
                "the value for \(key) has \(value.bytes.count) bytes; a store takes \(SealedBytes.maximumCount)"
            )
        }
        guard version > expecting ?? Version(0) else {
            throw StoreError(
                .invalid,
                "version \(version) of \(key) is not larger than \(expecting ?? Version(0)), the one it replaces"
            )
        }
    }

    /// - Throws: ``Code/invalid`` for a limit below 1.
    package static func checkLimit(_ limit: Int) throws(StoreError) {
        guard limit >= 1 else { throw StoreError(.invalid, "keys can't be listed with a limit of \(limit)") }
    }
}
