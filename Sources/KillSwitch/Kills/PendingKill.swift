internal import TokenModel
package import TokenStorage

/// A kill that is not in the log yet, as far as this process knows. It holds in this process all the same.
package struct PendingKill: Sendable {
    package let entry: KillEntry
    /// It is in `state_dir`, so that any process on that directory can write it to the store.
    package var isInCopy = false
    /// It could not be kept in `state_dir`, and ends with this process.
    package var isUnkept = false
    /// The number of requests that were left to finish.
    package var draining = 0
    /// Why the store did not take the kill. Once this is set, each poll tries again. `nil` during the first write.
    package var cause: StoreError.Code?

    package init(entry: KillEntry, isInCopy: Bool = false, cause: StoreError.Code? = nil) {
        self.entry = entry
        self.isInCopy = isInCopy
        self.cause = cause
    }
}
