package import TokenModel

/// An operator's yes: the account may be used until it is over.
package struct Approval: Equatable, Sendable {
    package let account: AccountID
    package let until: WallTime
    /// Who gave it, as `AuditActor/memo` has it.
    package let by: String?
    package let at: WallTime
}

/// Which accounts are used only after an operator has approved it, and for how long.
package struct ApprovalPolicy: Sendable {
    private let covers: @Sendable (AccountID) -> Bool
    /// How long an approval stands.
    package let duration: Duration
    /// How long a request waits for one.
    package let wait: Duration

    package init(
        duration: Duration,
        wait: Duration,
        appliesTo covers: @escaping @Sendable (AccountID) -> Bool
    ) {
        self.covers = covers
        self.duration = duration
        self.wait = wait
    }

    package func applies(to account: AccountID) -> Bool { self.covers(account) }
}

extension CredentialError {
    /// Nobody has approved the use of the account.
    static func approvalRequired(for account: AccountID) -> CredentialError {
        CredentialError(
            .approvalRequired,
            "account \(account) is used only after an approval, and none stands: an operator runs martlet approve NAME",
            retryAfter: .seconds(30)
        )
    }
}
