internal import TokenModel
internal import TokenStorage

/// The reason why an account's tokens could not be imported, adopted or forgotten. Two errors are equal if their codes
/// are equal.
package struct AccountChangeError: Error, Sendable {
    /// The reason, for programs.
    package enum Code: String, Sendable {
        /// The configuration has no such account.
        case notConfigured
        /// The account's tokens are minted, so there is nothing to import.
        case minted
        /// The kill switch is on, or the tokens were killed.
        case killed
        /// A token is empty, has characters that no token may have, or is the client's secret.
        case invalidTokens
        /// The stored record can't be decrypted or parsed. It is kept.
        case unreadable
        /// The store is unreachable or can't be written, or other writers were faster each time.
        case storeLost
    }

    package let code: Code
    /// For the operator: what failed, on which object, and what would help.
    package let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    init(_ account: AccountID, _ cause: StoreError) {
        self.init(
            cause.code == .unreadable ? .unreadable : .storeLost,
            "the record of account \(account) could not be changed: \(cause.message)"
        )
    }
}

extension AccountChangeError: Equatable {
    package static func == (left: AccountChangeError, right: AccountChangeError) -> Bool { left.code == right.code }
}
