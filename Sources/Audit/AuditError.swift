package import TokenStorage

/// Why nothing could be recorded. Equal when the codes are equal.
package struct AuditError: Error, Sendable {
    /// What went wrong, for programs.
    package enum Code: String, Sendable {
        /// The log is where tokens are kept, and that is out of reach or can't be written.
        case unavailable = "audit_unavailable"
    }

    package let code: Code
    /// For the operator: what failed, on what, what would help.
    package let message: String

    /// Nothing was changed, since that could not be recorded.
    package init(_ cause: StoreError) {
        self.code = .unavailable
        self.message = "nothing was changed, because it could not be put into the audit log: \(cause.message)"
    }
}

extension AuditError: Equatable {
    package static func == (left: AuditError, right: AuditError) -> Bool { left.code == right.code }
}
