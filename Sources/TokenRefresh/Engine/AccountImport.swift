package import TokenModel

/// The tokens of one account in a bulk import.
package struct AccountImport: Sendable {
    package let account: AccountID
    package let refreshToken: Secret
    /// `nil`: the first use refreshes.
    package let accessToken: Secret?
    /// How long the access token is valid from now on; `nil` for the account's default lifetime.
    package let expiresIn: Duration?
    /// The granted scopes, if known; only for display.
    package let scopes: [String]

    package init(
        _ account: AccountID,
        refreshToken: Secret,
        accessToken: Secret? = nil,
        expiresIn: Duration? = nil,
        scopes: [String] = []
    ) {
        self.account = account
        self.refreshToken = refreshToken
        self.accessToken = accessToken
        self.expiresIn = expiresIn
        self.scopes = scopes
    }
}

/// What a bulk import does with an account that has tokens already.
package enum ExistingAccounts: String, Sendable, CaseIterable {
    /// Leaves it as it is.
    case skip
    /// Replaces its tokens, unless this refresh token was imported for it before: that token's successor stands.
    case replace
    /// Refuses it.
    case fail
}

/// What came of one account in a bulk import.
package enum ImportOutcome: Equatable, Sendable {
    /// The account had no tokens, and has these now.
    case imported
    /// The account had other tokens, and has these now.
    case replaced
    /// The account exists, and was left as it is.
    case exists
    /// The refresh token was imported for this account before, and was left out: it may be spent.
    case importedBefore
    case refused(AccountChangeError)
}
