package import TokenModel

/// What is to be recorded, before it has a number.
package struct AuditEntry: Equatable, Sendable {
    /// By which a record is known again whose write had no answer.
    package let id: AuditID
    package let time: WallTime
    package let action: AuditAction
    package let actor: AuditActor
    /// Of the process that writes it.
    package let replica: String
    /// `nil` for a command.
    package let incarnation: IncarnationID?
    package let scope: KillScope?
    /// The operator's words.
    package let reason: String?
    /// `nil` in a record from before the change, which is not known to have happened by it.
    package let outcome: AuditOutcome?
    /// The process's words.
    package let detail: String?

    /// - Parameter id: another than a new one where several may write the same record.
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

/// What came of a change, and which record announced it.
package struct AuditOutcome: Equatable, Sendable {
    /// `nil` where that could not be written.
    package let begin: UInt64?
    /// One word: `done`, or why not.
    package let word: String

    package init(of begin: UInt64?, _ word: String) {
        self.begin = begin
        self.word = word
    }
}

/// One attempt to write a record.
package struct AuditID: RandomIdentifier {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }
}

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
