internal import TokenModel
internal import TokenRefresh

/// An account as the API shows it. Every member is always present; a member without a value is `null`.
struct AccountResponse: Encodable, Sendable {
    private let status: AccountStatus

    init(_ status: AccountStatus) {
        self.status = status
    }

    private enum Key: String, CodingKey {
        case name, provider, configured, state, generation, scopes, trouble
        case expiresAt = "expires_at"
        case lastRefreshAt = "last_refresh_at"
        case lastError = "last_error"
    }

    func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Key.self)
        try members.encode(self.status.account.rawValue, forKey: .name)
        try members.encode(self.status.provider.rawValue, forKey: .provider)
        try members.encode(self.status.isConfigured, forKey: .configured)
        try members.encode(self.status.state.rawValue, forKey: .state)
        try members.encode(self.status.expiresAt?.rfc3339, forKey: .expiresAt)
        try members.encode(self.status.generation.rawValue, forKey: .generation)
        try members.encode(self.status.lastRefreshAt?.rfc3339, forKey: .lastRefreshAt)
        try members.encode(self.status.lastError, forKey: .lastError)
        try members.encode(self.status.scopes, forKey: .scopes)
        try members.encode(self.status.issue.map(Issue.init), forKey: .trouble)
    }

    /// A fault that the state does not show.
    private struct Issue: Encodable {
        let kind: String
        let reason: String
        let knownSince: String

        init(_ trouble: AccountIssue) {
            self.kind = trouble.kind.rawValue
            self.reason = trouble.reason
            self.knownSince = trouble.knownSince.rfc3339
        }

        private enum CodingKeys: String, CodingKey {
            case kind, reason
            case knownSince = "known_since"
        }
    }
}

/// A page of accounts, sorted by name.
struct AccountsResponse: Encodable, Sendable {
    private let accounts: [AccountResponse]
    /// The `after` of a request for the next page; `nil` on the last page.
    private let next: String?

    init(_ page: AccountPage) {
        self.accounts = page.accounts.map(AccountResponse.init)
        self.next = page.next?.rawValue
    }

    private enum Key: String, CodingKey { case accounts, next }

    func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Key.self)
        try members.encode(self.accounts, forKey: .accounts)
        try members.encode(self.next, forKey: .next)
    }
}

/// An account as in the other responses, with those of its tokens that are still to be revoked.
struct ShownAccountResponse: Encodable, Sendable {
    private let account: AccountResponse
    private let unrevoked: [ForgottenResponse.Token]

    init(_ status: AccountStatus, unrevoked tokens: [ForgottenToken]) {
        self.account = AccountResponse(status)
        self.unrevoked = tokens.map { ForgottenResponse.Token($0) }
    }

    private enum Key: String, CodingKey { case unrevoked }

    func encode(to encoder: any Encoder) throws {
        try self.account.encode(to: encoder)
        var members = encoder.container(keyedBy: Key.self)
        try members.encode(self.unrevoked, forKey: .unrevoked)
    }
}
