package import TokenModel

/// The content of an audit record before it has a number.
package struct AuditEntry: Equatable, Sendable {
    /// By this ID a record is found again after a write whose response was lost.
    package let id: AuditID
    package let time: WallTime
    package let action: AuditAction
    package let actor: AuditActor
    /// The name of the process that writes the record.
    package let replica: String
    /// `nil` for a command.
    package let incarnation: IncarnationID?
    package let scope: KillScope?
    /// Written by the operator.
    package let reason: String?
    /// `nil` in a record from before the change. Such a record does not show that the change happened.
    package let outcome: AuditOutcome?
    /// Written by the process.
    package let detail: String?

    /// - Parameter id: a new one, except where several processes may write the same record.
    package init(
        _ action: AuditAction,
        id: AuditID = .random(),
        by actor: AuditActor,
        in replica: String,
        incarnation: IncarnationID?,
        of scope: KillScope?,
        reason: String?,
        outcome: AuditOutcome? = nil,
        detail: String? = nil,
        at time: WallTime
    ) {
        self.id = id
        self.time = time
        self.action = action
        self.actor = actor
        self.replica = replica
        self.incarnation = incarnation
        self.scope = scope
        self.reason = reason
        self.outcome = outcome
        self.detail = detail
    }
}

/// The outcome of a change, and the number of the record that announced it.
package struct AuditOutcome: Equatable, Sendable {
    /// `nil` where the announcement could not be written.
    package let begin: UInt64?
    /// One word: `done`, or why not.
    package let word: String

    package init(of begin: UInt64?, _ word: String) {
        self.begin = begin
        self.word = word
    }
}

/// Identifies a record, however often its write is tried.
package struct AuditID: RandomIdentifier {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }
}

/// A kind of change or attempt. Records keep these names for good.
package enum AuditAction: String, Sendable, CaseIterable {
    /// New tokens replace an account's tokens.
    case importTokens = "import"
    /// A sign-in of an account is begun.
    case beginSignIn = "login_begin"
    /// Tokens of a sign-in replace an account's tokens.
    case signIn = "login"
    /// A sign-in is ended by an operator before it has brought tokens.
    case cancelSignIn = "login_cancel"
    /// An account's tokens were made for another provider or client, and belong to the configured one from now on.
    case adopt
    /// A refresh that an operator asked for.
    case refresh
    /// An account's tokens are revoked and forgotten.
    case remove
    case kill
    case revive
    /// A replica is removed from the list of those that a kill waits for.
    case forgetReplica = "forget_replica"
    /// Stored responses are removed from the caches of one process.
    case purgeCache = "cache_purge"
    /// The gateway gives up its keys and tokens.
    case lock
    case unlock
    /// An account that needs an approval may be used for some time.
    case approve
    /// The configuration is read again.
    case reload
    /// A gateway takes the addresses of another.
    case takeover
    /// Entries of the kill log that the store lacks are written back to it, because it was restored from a backup.
    case acceptOlderStore = "accept_older_store"
    /// The store is sealed under another key.
    case rekey
    /// All records of the store are copied to another one.
    case copyStore = "copy_store"
    /// Requests with a wrong admin token, many in one record.
    case refusedTokens = "refused_tokens"
}
