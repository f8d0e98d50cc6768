internal import TokenModel
package import TokenStorage

/// A kill that does not stand in the log yet, as far as this process knows: it holds here all the same.
package struct PendingKill: Sendable {
    package let entry: KillEntry
    /// It stands in `state_dir`, for whoever may write it to the store.
    package var isInCopy = false
    /// It could not be kept there, and ends with this process.
    package var isUnkept = false
    /// Requests that were left to end.
    package var draining = 0
    /// Why the store did not take it; from then on each poll tries again. `nil` while it is written for the first time.
    package var cause: StoreError.Code?

    package init(entry: KillEntry, isInCopy: Bool = false, cause: StoreError.Code? = nil) {
        self.entry = entry
        self.isInCopy = isInCopy
        self.cause = cause
    }
}
