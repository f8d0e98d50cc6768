internal import TokenModel
internal import TokenStorage

/// Why an account's tokens could not be imported, adopted or forgotten. Equal when the codes are equal.
package struct AccountChangeError: Error, Sendable {
    /// What went wrong, for programs.
    package enum Code: String, Sendable {
        /// The configuration has no such account.
        case notConfigured
        /// The account's tokens are minted; there is nothing to import.
        case minted
        /// The kill switch holds, or what is there was killed.
        case killed
        /// A token is empty, has characters that no token has, or is the client's secret.
        case invalidTokens
        /// The record that is there does not open; it is kept.
        case unreadable
        /// The store is out of reach, can't be written, or others write faster than we do.
        case storeLost
    }

    package let code: Code
    /// For the operator: what failed, on what, what would help.
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
