internal import Audit
internal import TokenModel

/// The operations on accounts that need an approval.
extension OpenGateway {
    func approvalStandings() -> [ApprovalStanding] { self.approvals?.standings() ?? [] }

    /// - Returns: the end of the approval.
    func approve(_ account: AccountID, by actor: AuditActor) async throws(AdminError) -> WallTime {
        try await self.audited(.approve, account, by: actor) { () async throws(AdminError) in
            guard let approvals = self.approvals else { throw .noApprovals }
            do throws(ApprovalRefusal) { return try await approvals.approve(account, by: actor.memo) } catch {
                throw AdminError(error, account: account)
            }
        } detail: {
            "until \($0.rfc3339)"
        }
    }
}
