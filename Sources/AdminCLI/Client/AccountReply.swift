/// An account as the admin API shows it. Times are in RFC 3339 format.
package struct AccountReply: Decodable, Equatable, Sendable {
    package let name: String
    package let provider: String
    /// `false` for a record without an account in the configuration.
    package let configured: Bool
    /// One word; `valid` if a request would be served at once.
    package let state: String
    /// When the access token expires.
    package let expiresAt: String?
    package let generation: UInt64
    package let lastRefreshAt: String?
    /// One word; `nil` after a success.
    package let lastError: String?
    /// What is wrong in addition to the state; `nil` also if an older gateway doesn't report it.
    package let trouble: Issue?
    package let scopes: [String]
    /// Tokens that were removed from the account and are not revoked yet; `nil` if they were not asked for or are not
    /// known.
    package let unrevoked: [RemovedTokenReply]?

    private enum CodingKeys: String, CodingKey {
        case name, provider, configured, state, generation, trouble, scopes, unrevoked
        case expiresAt = "expires_at"
        case lastRefreshAt = "last_refresh_at"
        case lastError = "last_error"
    }

    /// Why the access token is refused, or why there will be no next one for now.
    package struct Issue: Decodable, Equatable, Sendable {
        /// `token_refused`, `client_refused`, `refresh_failing` or `refresh_overdue`.
        package let kind: String
        /// One word.
        package let reason: String
        /// When the responding process found out.
        package let knownSince: String

        private enum CodingKeys: String, CodingKey {
            case kind, reason
            case knownSince = "known_since"
        }
    }
}

/// A page of the accounts.
package struct AccountsReply: Decodable, Equatable, Sendable {
    package let accounts: [AccountReply]
    /// The name to list behind for the next page; `nil` where this is the last one, or if an older gateway gives all at
    /// once.
    package let next: String?
}

/// An account after the removal of its tokens, and the outcome for each token.
package struct RemovalReply: Decodable, Equatable, Sendable {
    package let account: AccountReply
    package let tokens: [RemovedTokenReply]
}

/// A token that the gateway no longer holds.
package struct RemovedTokenReply: Decodable, Equatable, Sendable {
    package let kind: String
    /// The provider's result: `revoked`, `refused`, `client_refused`, `unsupported` or `unreachable`. `unreachable`
    /// also means that the provider is not configured any more and was not asked.
    package let outcome: String
    package let reason: String?
    package let endsAt: String?
    /// When its provider is asked again; `nil` if that is not known, or if an older gateway doesn't report it.
    package let nextTryAt: String?

    private enum CodingKeys: String, CodingKey {
        case kind, outcome, reason
        case endsAt = "ends_at"
        case nextTryAt = "next_try_at"
    }

    /// Whether the provider should have revoked the token and did not, so that it may still be valid.
    package var mayStillBeValid: Bool { ["refused", "client_refused", "unreachable"].contains(self.outcome) }
}
