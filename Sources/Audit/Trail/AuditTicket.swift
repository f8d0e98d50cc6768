internal import TokenModel

/// A change whose announcement was recorded or at least tried. Its outcome is recorded with this.
package struct AuditTicket: Equatable, Sendable {
    /// The number of the record that announces the change; `nil` where that could not be written.
    package let number: UInt64?
    let action: AuditAction
    let actor: AuditActor
    let scope: KillScope?
    /// Present only where no other record holds it.
    let reason: String?

    /// Whether the announcement is in the log.
    package var isWritten: Bool { self.number != nil }
}
