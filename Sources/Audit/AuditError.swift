package import TokenStorage

/// Why nothing could be recorded. Two errors are equal when their codes are equal.
package struct AuditError: Error, Sendable {
    /// What went wrong, for programs.
    package enum Code: String, Sendable {
        /// The audit log is in the token store, which can't be reached or written.
        case unavailable = "audit_unavailable"
    }

    package let code: Code
    /// For the operator: what failed, on what, and what would help.
    package let message: String

    /// Nothing was changed, because the change could not be recorded.
    package init(_ cause: StoreError) {
        self.code = .unavailable
        self.message = "nothing was changed, because it could not be put into the audit log: \(cause.message)"
    }
}

extension AuditError: Equatable {
    package static func == (left: AuditError, right: AuditError) -> Bool { left.code == right.code }
}
