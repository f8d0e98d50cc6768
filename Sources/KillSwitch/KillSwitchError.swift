internal import TokenStorage

/// Why a kill or a revival could not be done. Equal when the codes are equal.
package struct KillSwitchError: Error, Sendable {
    package enum Code: String, Sendable {
        /// What is to be revived is not killed.
        case notKilled
        /// Tokens can't come while the kill holds.
        case killed
        /// No kill has that id.
        case noSuchKill
        /// No replica has that name or id, or it is the one that was asked, or several have it.
        case noSuchReplica
        case ownReplica
        case ambiguousReplica
        /// The store is out of reach or can't be written.
        case storeLost
    }

    package let code: Code
    /// For the operator: what failed, on what, what would help.
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
