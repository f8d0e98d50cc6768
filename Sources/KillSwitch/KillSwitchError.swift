internal import TokenStorage

/// Why a kill or a revival failed. Two errors are equal when their codes are equal.
package struct KillSwitchError: Error, Sendable {
    package enum Code: String, Sendable {
        /// The scope to revive is not killed.
        case notKilled
        /// No tokens may come while the kill holds.
        case killed
        /// No kill has that ID.
        case noSuchKill
        /// No replica has that name or ID. The next two: the name is that of the replica that was asked; several
        /// replicas match.
        case noSuchReplica
        case ownReplica
        case ambiguousReplica
        /// The store can't be reached or written.
        case storeLost
    }

    package let code: Code
    /// For the operator: what failed, on what, and what would help.
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    init(_ cause: StoreError) {
        self.init(
            .storeLost,
            "the kill log could not be read or written (\(cause.message)); what was asked may or may not stand: ask again when "
                + "the store is back; replicas that can't read it stop at the end of their lease"
        )
    }
}

extension KillSwitchError: Equatable {
    package static func == (left: KillSwitchError, right: KillSwitchError) -> Bool { left.code == right.code }
}
