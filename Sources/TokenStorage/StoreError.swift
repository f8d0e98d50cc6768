package import TokenModel

/// Why a store operation failed. Two errors are equal if their codes are equal.
package struct StoreError: Error, Sendable {
    package enum Code: String, Sendable {
        /// The current version is not the expected one. ``StoreError/current`` is the record that is there (`nil`:
        /// none).
        case conflict
        /// No connection, or no response in time. A write or removal may or may not be done, now or later.
        case unreachable
        /// The store responds and can't write, and this does not pass by itself: a full disk, a read-only file system,
        /// lost permissions.
        case unwritable
        /// The record, or the whole store, does not open with this key ring, is damaged, or has been moved from another
        /// key or store.
        case unreadable
        /// The store has lost records that this host knows it had: a backup was restored, or acknowledged writes were
        /// lost.
        case outdated
        /// The store's records are, in whole or in part, in another store (``StorePlace``).
        case moved
        /// An operator has locked all replicas, and nobody has unlocked this one since.
        case locked
        /// A value over 64 KiB, a limit below 1, a version that does not grow.
        case invalid
    }

    package let code: Code
    /// For the operator: what failed, on what, and what would help.
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
    /// The checks that every driver makes before it accesses its database.
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
