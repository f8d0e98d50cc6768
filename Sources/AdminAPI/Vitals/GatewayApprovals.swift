package import TokenModel

/// Approves the use of accounts, which the admin API can't do itself. The program that assembles the gateway implements
/// it.
package protocol GatewayApprovals: Sendable {
    /// One for each account that is used only after an approval.
    func standings() -> [ApprovalStanding]

    /// Lets the account be used for the configured time. When this returns, the store has the approval.
    ///
    /// - Parameter memo: who approves (``AuditActor/memo``).
    /// - Returns: the end of the approval.
    func approve(_ account: AccountID, by memo: String?) async throws(ApprovalRefusal) -> WallTime
}

/// Whether an account that needs approvals may be used.
package struct ApprovalStanding: Equatable, Sendable {
    package var account: AccountID
    /// `nil` if it may not be used now.
    package var until: WallTime?
    /// Whether requests wait for an approval now.
    package var isAwaited: Bool

    package init(_ account: AccountID, until: WallTime?, isAwaited: Bool) {
        self.account = account
        self.until = until
        self.isAwaited = isAwaited
    }
}

/// The reason why an account was not approved. Two errors are equal if their codes are equal.
package struct ApprovalRefusal: Error, Sendable {
    /// The reason, for programs.
    package enum Code: String, Sendable, CaseIterable {
        /// The account is used without approvals.
        case notRequired = "not_required"
        case unknownAccount = "unknown_account"
        /// The account is killed.
        case killed
        /// The store is unreachable or can't be written.
        case storeLost = "store_lost"
    }

    package let code: Code
    /// For the operator: what failed, and what would help.
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension ApprovalRefusal: Equatable {
    package static func == (left: ApprovalRefusal, right: ApprovalRefusal) -> Bool { left.code == right.code }
}
