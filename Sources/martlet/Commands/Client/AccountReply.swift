/// An account as the admin API shows it. Times are RFC 3339.
package struct AccountReply: Decodable, Equatable, Sendable {
    package let name: String
    package let provider: String
    /// `false` for a record that the configuration has no account for.
    package let configured: Bool
    /// One word, `valid` when a request would be served at once.
    package let state: String
    /// When the access token ends.
    package let expiresAt: String?
    package let generation: UInt64
    package let lastRefreshAt: String?
    /// One word; `nil` after a success.
    package let lastError: String?
    /// What is wrong beside what the state says; `nil` also where a gateway of before says nothing of it.
    package let trouble: Issue?
    package let scopes: [String]
    /// Tokens that were taken away from it and are not revoked yet; `nil` where that was not asked, or is not known.
    package let unrevoked: [RemovedTokenReply]?

    private enum CodingKeys: String, CodingKey {
        case name, provider, configured, state, generation, trouble, scopes, unrevoked
        case expiresAt = "expires_at"
        case lastRefreshAt = "last_refresh_at"
        case lastError = "last_error"
    }

    /// Why the access token is not taken, or is the last one for now.
    package struct Issue: Decodable, Equatable, Sendable {
        /// `token_refused`, `client_refused` or `refresh_failing`.
        package let kind: String
        /// One word.
        package let reason: String
        /// When the process that answered found out.
        package let knownSince: String

        private enum CodingKeys: String, CodingKey {
            case kind, reason
            case knownSince = "known_since"
        }
    }
}

/// All accounts.
package struct AccountsReply: Decodable, Equatable, Sendable {
    package let accounts: [AccountReply]
}

/// An account without its tokens, and what became of them.
package struct RemovalReply: Decodable, Equatable, Sendable {
    package let account: AccountReply
    package let tokens: [RemovedTokenReply]
}

/// A token that the gateway does not hold any more.
package struct RemovedTokenReply: Decodable, Equatable, Sendable {
    package let kind: String
    /// What the provider did: `revoked`, `refused`, `client_refused`, `unsupported` or `unreachable`, also where it is gone and was not asked.
    package let outcome: String
    package let reason: String?
    package let endsAt: String?
    /// When its provider is asked again; `nil` where that is not known, or a gateway of before says nothing of it.
    package let nextTryAt: String?

    private enum CodingKeys: String, CodingKey {
        case kind, outcome, reason
        case endsAt = "ends_at"
        case nextTryAt = "next_try_at"
    }

    /// Whether the provider was to revoke it and did not, so that it may live on.
    package var mayLiveOn: Bool { ["refused", "client_refused", "unreachable"].contains(self.outcome) }
}
