internal import AdminAPI
internal import Approvals
internal import Settings
internal import TokenModel

/// Approvals as operators see them.
struct ApprovalDesk: GatewayApprovals {
    private let service: ApprovalService
    private let front: GatewayFront

    init(_ service: ApprovalService, front: GatewayFront) {
        self.service = service
        self.front = front
    }

    func standings() -> [ApprovalStanding] {
        let settings = self.front.settings
        let (approvals, waiting) = (self.service.statuses(), self.service.waiting())
        return settings.accountsUnderApproval(including: waiting.union(approvals.keys)).map { account in
            ApprovalStanding(account, until: approvals[account]?.until, isAwaited: waiting.contains(account))
        }
    }

    func approve(_ account: AccountID, by memo: String?) async throws(ApprovalRefusal) -> WallTime {
        do throws(ApprovalError) {
            return try await self.service.approve(account, by: memo).until
        } catch {
            let code: ApprovalRefusal.Code =
                switch error.code {
                case .unknownAccount: .unknownAccount
                case .notRequired: .notRequired
                case .killed: .killed
                case .storeLost: .storeLost
                }
            throw ApprovalRefusal(code, error.message)
        }
    }
}

extension ApprovalPolicy {
    init(_ settings: ApprovalSettings) {
        self.init(duration: settings.duration, wait: settings.wait, appliesTo: settings.applies)
    }

    /// The policy of both settings, while event loops go over from the one to the other.
    init?(_ one: ApprovalSettings?, or other: ApprovalSettings?) {
        guard let last = other ?? one else { return nil }
        self.init(duration: last.duration, wait: last.wait) { account in
            one?.applies(to: account) == true || other?.applies(to: account) == true
        }
    }
}
