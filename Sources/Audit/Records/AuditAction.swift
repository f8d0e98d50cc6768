/// What was done, or tried. The names stand in records for good.
package enum AuditAction: String, Sendable, CaseIterable {
    /// New tokens in place of an account's.
    case importTokens = "import"
    /// An account's tokens were made for another provider or client, and are the configured one's from now on.
    case adopt
    /// A refresh that an operator asked for.
    case refresh
    /// An account's tokens are revoked and forgotten.
    case remove
    case kill
    case revive
    /// A replica is taken out of the list of those that a kill waits for.
    case forgetReplica = "forget_replica"
    /// The configuration is read again.
    case reload
    /// A gateway takes the addresses of another.
    case takeover
    /// What the store lacks of the kill log is written back to it: it was put back from a backup.
    case acceptOlderStore = "accept_older_store"
    /// The store is sealed under another key.
    case rekey
    /// Requests with a wrong admin token, many in one record.
    case refusedTokens = "refused_tokens"
}
