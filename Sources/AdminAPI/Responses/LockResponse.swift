internal import KillSwitch
internal import TokenModel

/// Whether the process holds keys and tokens. Every member is always present; a member without a value is `null`.
struct LockResponse: Encodable, Sendable {
    private let status: LockStatus

    init(_ status: LockStatus) {
        self.status = status
    }

    private enum Key: String, CodingKey {
        case state, complete, since, reason, by, needs, replicas, kept
        case isForAllReplicas = "all_replicas"
        case waitsFor = "waits_for"
        case openAccounts = "open_accounts"
        case lostAccounts = "lost_accounts"
    }

    func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Key.self)
        try members.encode(self.status.state.rawValue, forKey: .state)
        try members.encode(self.status.isComplete, forKey: .complete)
        try members.encode(self.status.since?.rfc3339, forKey: .since)
        try members.encode(self.status.reason, forKey: .reason)
        try members.encode(self.status.by, forKey: .by)
        try members.encode(self.status.isForAllReplicas, forKey: .isForAllReplicas)
        try members.encode(self.status.isKept, forKey: .kept)
        try members.encode(self.status.needs?.rawValue, forKey: .needs)
        try members.encode(self.status.waitsFor, forKey: .waitsFor)
        try members.encode(self.status.openAccounts.map(\.rawValue), forKey: .openAccounts)
        try members.encode(self.status.lostAccounts.map(\.rawValue), forKey: .lostAccounts)
        try members.encode(self.status.otherReplicas.map(ReplicaStateResponse.init), forKey: .replicas)
    }
}

/// A replica that a kill or a lock is for. `until` is left out if it has no value.
struct ReplicaStateResponse: Encodable, Sendable {
    let name: String
    let state: String
    let until: String?

    init(_ replica: KillReport.Replica) {
        self.name = replica.name
        self.state = replica.state.rawValue
        self.until = replica.until?.rfc3339
    }
}

/// An account that is used only after an approval. A member without a value is `null`.
struct ApprovalResponse: Encodable, Sendable {
    private let standing: ApprovalStanding

    init(_ standing: ApprovalStanding) {
        self.standing = standing
    }

    private enum Key: String, CodingKey { case account, until, waiting }

    func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Key.self)
        try members.encode(self.standing.account.rawValue, forKey: .account)
        try members.encode(self.standing.until?.rfc3339, forKey: .until)
        try members.encode(self.standing.isAwaited, forKey: .waiting)
    }
}

/// All accounts that are used only after an approval.
struct ApprovalsResponse: Encodable, Sendable {
    let approvals: [ApprovalResponse]

    init(_ standings: [ApprovalStanding]) {
        self.approvals = standings.sorted { $0.account < $1.account }.map(ApprovalResponse.init)
    }
}

/// An approval that was just given.
struct ApprovedResponse: Encodable, Sendable {
    let account: String
    let until: String

    init(_ account: AccountID, until: WallTime) {
        self.account = account.rawValue
        self.until = until.rfc3339
    }
}
