internal import TokenModel
internal import TokenStorage

/// Why an account was not approved. Two errors are equal if their codes are equal.
package struct ApprovalError: Error, Sendable {
    package enum Code: String, Sendable, CaseIterable {
        /// The configuration has no such account.
        case unknownAccount = "unknown_account"
        /// The account is used without an approval.
        case notRequired = "not_required"
        /// A kill covers the account, or came in between.
        case killed
        /// The store can't be reached or written. The approval may stand all the same.
        case storeLost = "store_lost"
    }

    package let code: Code
    /// For the operator: what failed, on what, and what would help.
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension ApprovalError: Equatable {
    package static func == (left: ApprovalError, right: ApprovalError) -> Bool { left.code == right.code }
}

extension ApprovalError {
    static func unknown(_ account: AccountID) -> ApprovalError {
        ApprovalError(.unknownAccount, "the configuration has no account \(account)")
    }

    static func notRequired(_ account: AccountID) -> ApprovalError {
        ApprovalError(.notRequired, "account \(account) needs no approval: no pattern of require_approval matches it")
    }

    static func killed(_ account: AccountID) -> ApprovalError {
        ApprovalError(.killed, "a kill covers account \(account): lift it first, then approve the account")
    }

    /// The approval was stored, and does not stand.
    static func ended(_ account: AccountID) -> ApprovalError {
        ApprovalError(
            .killed,
            "the approval of account \(account) has ended already, by a kill or by another configuration"
        )
    }

    init(_ cause: StoreError, of account: AccountID) {
        self.init(
            .storeLost,
            "the approval of account \(account) could not be stored (\(cause.message)); it may or may not stand: approve again "
                + "when the store is back, or kill the account to be sure that it does not"
        )
    }
}
