/// The gateway's lock as the admin API shows it.
package struct LockReply: Decodable, Equatable, Sendable {
    /// `open`, `unlocking`, `locking` or `locked`.
    package let state: String
    /// Whether it is locked, and so is each replica that the order was for.
    package let complete: Bool
    package let since: String?
    package let reason: String?
    /// Who locked it.
    package let by: String?
    package let isForAllReplicas: Bool
    /// Whether the lock survives a restart.
    package let isKept: Bool
    /// `passphrase`, `new_passphrase`, `key` or `nothing`; `nil` while the gateway is open.
    package let needs: String?
    package let waitsFor: String?
    /// The accounts with an open token request.
    package let openAccounts: [String]
    /// The accounts whose token requests were given up.
    package let lostAccounts: [String]
    /// The other replicas that the order was for.
    package let replicas: [KillReply.Replica]

    private enum CodingKeys: String, CodingKey {
        case state, complete, since, reason, by, needs, replicas
        case isForAllReplicas = "all_replicas"
        case isKept = "kept"
        case waitsFor = "waits_for"
        case openAccounts = "open_accounts"
        case lostAccounts = "lost_accounts"
    }
}

/// A lock in the admin API's form.
package struct LockOrderBody: Encodable, Equatable, Sendable {
    package let reason: String
    package let isForAllReplicas: Bool
    package let isNow: Bool

    package init(reason: String, isForAllReplicas: Bool, isNow: Bool) {
        self.reason = reason
        self.isForAllReplicas = isForAllReplicas
        self.isNow = isNow
    }

    private enum CodingKeys: String, CodingKey {
        case reason
        case isForAllReplicas = "all_replicas"
        case isNow = "now"
    }
}

/// What opens a locked gateway, in the admin API's form. A member that is `nil` is left out.
package struct UnlockBody: Encodable, Equatable, Sendable {
    package private(set) var passphrase: String?
    package private(set) var key: String?

    /// Nothing: the gateway gets its key itself.
    package init() {}

    package init(passphrase: String) { self.passphrase = passphrase }

    /// - Parameter key: the text of a key file.
    package init(key: String) { self.key = key }
}

/// An account that is used only after an approval.
package struct ApprovalReply: Decodable, Equatable, Sendable {
    package let account: String
    /// `nil` if it may not be used now.
    package let until: String?
    /// Whether requests wait for an approval; `nil` in the response to an approval.
    package let waiting: Bool?
}
