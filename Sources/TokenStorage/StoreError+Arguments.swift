package import TokenModel

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
