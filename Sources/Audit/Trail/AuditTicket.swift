internal import TokenModel

/// A change that was announced, or at least tried to be: what its outcome is recorded by.
package struct AuditTicket: Equatable, Sendable {
    /// The record that announces it; `nil` where that could not be written.
    package let number: UInt64?
    let action: AuditAction
    let actor: AuditActor
    let scope: KillScope?
    /// Only where nothing else says it.
    let reason: String?

    /// Whether the change is in the log.
    package var isWritten: Bool { self.number != nil }
}
