package import TokenModel
package import TokenStorage

/// A kill that is not in the log yet, as far as this process knows. It holds in this process all the same.
package struct PendingKill: Sendable {
    package let entry: KillEntry
    /// It is in `state_dir`, so that any process on that directory can write it to the store.
    package var isInCopy = false
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

/// A kill that the store did not take when it was ordered, and that is in the store now. It could not be recorded in
/// the audit log when it was ordered.
package struct KeptKill: Equatable, Sendable {
    package let id: KillID
    package let scope: KillScope
    package let reason: String
    package let epoch: Epoch
    package let requestedAt: WallTime
    /// True if this process received the order; false if another process that shares `state_dir`, or an earlier start,
    /// did.
    package let isOwn: Bool
    /// Who ordered the kill, and from where. Known only if this process received the order.
    package let requester: String?
}

/// The result of a revival.
package struct KillRevival: Equatable, Sendable {
    /// The number of the revival's own entry. Tokens that come from now on are stamped with it or a later one.
    package let epoch: Epoch
    /// The kills that the revival lifted, in log order.
    package let lifted: [Kill]

    package struct Kill: Equatable, Sendable {
        package let id: KillID
        package let epoch: Epoch
    }
}
