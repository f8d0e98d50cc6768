internal import TokenModel
internal import TokenStorage

/// A kill that does not stand in the log yet, as far as this process knows: it holds here all the same.
struct KillOrder: Sendable {
    let entry: KillEntry
    /// It stands in `state_dir`, for whoever may write it to the store.
    var isInCopy = false
    /// It could not be kept there, and ends with this process.
    var isUnkept = false
    /// Requests that were left to end.
    var draining = 0
    /// Why the store did not take it; from then on each poll tries again. `nil` while it is written for the first time.
    var cause: StoreError.Code?
}
