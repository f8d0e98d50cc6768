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
