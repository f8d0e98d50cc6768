/// The scope of a kill, in the admin API's JSON form.
package struct ScopeReply: Codable, Equatable, Sendable {
    package let all: Bool?
    package let provider: String?
    package let account: String?

    package var text: String {
        if let provider { return "provider \(provider)" }
        if let account { return "account \(account)" }
        return "everything"
    }

    /// The matching option of `martlet kill` and `martlet revive`.
    package var option: String {
        if let provider { return "--provider \(provider)" }
        if let account { return "--account \(account)" }
        return "--all"
    }
}

/// A kill as the admin API shows it.
package struct KillReply: Decodable, Equatable, Sendable {
    package let id: String
    package let scope: ScopeReply
    package let reason: String
    /// `complete` or `pending`.
    package let state: String
    /// `reachable`, or what keeps the kill from being stored; `nil` if an older gateway doesn't report it.
    package let store: String?
    /// Its position in the kill log; `nil` if it has none yet.
    package let epoch: UInt64?
    /// Whether its scope was already killed.
    package let wasKilled: Bool?
    package let replicas: [Replica]
    package let tokens: Tokens
    package let draining: Int
    package let startedAt: String
    package let completedAt: String?
    /// When its scope was revived; `nil` while the kill is active, or if an older gateway doesn't report it.
    package let revivedAt: String?
    /// The replicas that can do it in place of a locked gateway; `nil` from a gateway that is not locked.
    package let canDoItNow: [String]?
    /// Whether the audit log holds the order; present only in the response to the order.
    package let audited: Bool?

    package struct Replica: Decodable, Equatable, Sendable {
        package let name: String
        package let state: String
        package let until: String?
    }

    package struct Tokens: Decodable, Equatable, Sendable {
        /// Whether the tokens are counted; `nil` for an older gateway, which always counts them.
        package let isCounted: Bool?
        /// `false` while accounts are still looked through for more; `nil` for an older gateway, which counts all.
        package let isCollected: Bool?
        package let total: Int
        package let waiting: Int
        package let inFlight: Int
        package let revoked: Int
        package let refused: Int
        /// `nil` if an older gateway counts these as unreachable.
        package let clientRefused: Int?
        package let unsupported: Int
        package let unreachable: Int
        /// Those of ``unreachable`` that no provider is asked about any more; `nil` if an older gateway doesn't report
        /// it.
        package let givenUp: Int?
        /// When a provider is asked again about the first waiting token; `nil` if that is not known.
        package let nextTryAt: String?
        /// When the last token is revoked, and how many that are a second; `nil` if it is unknown, or nothing waits.
        package let estimatedEnd: String?
        package let perSecond: Int?

        private enum CodingKeys: String, CodingKey {
            case total, waiting, revoked, refused, unsupported, unreachable
            case isCounted = "counted"
            case isCollected = "collected"
            case estimatedEnd = "estimated_end"
            case perSecond = "per_second"
            case inFlight = "in_flight"
            case clientRefused = "client_refused"
            case givenUp = "given_up"
            case nextTryAt = "next_try_at"
        }
    }

    private enum CodingKeys: String, CodingKey {
        case id, scope, reason, state, store, epoch, replicas, tokens, draining, audited
        case wasKilled = "was_killed"
        case startedAt = "started_at"
        case completedAt = "completed_at"
        case revivedAt = "revived_at"
        case canDoItNow = "can_do_it_now"
    }

    /// Whether a locked gateway keeps the kill until it is unlocked.
    package var isOfLockedGateway: Bool { self.store == "locked" }
    package var isComplete: Bool { self.state == "complete" }
}

/// A page of the tokens that a kill took away.
package struct KilledTokensReply: Decodable, Equatable, Sendable {
    package let tokens: [Token]
    /// The cursor for the next page; `nil` on the last one.
    package let next: String?

    package struct Token: Decodable, Equatable, Sendable {
        package let account: String
        package let kind: String
        package let outcome: String
        package let endsAt: String?

        private enum CodingKeys: String, CodingKey {
            case account, kind, outcome
            case endsAt = "ends_at"
        }
    }
}

/// All kills, the latest first.
package struct KillsReply: Decodable, Equatable, Sendable {
    package let kills: [KillReply]
    /// `unreachable`: the list may be incomplete; `nil` if an older gateway doesn't report it.
    package let store: String?

    /// Whether there may be kills that the gateway doesn't know.
    package var isIncomplete: Bool { self.store == "unreachable" }
}

/// What remains killed after a revival.
package struct RevivalReply: Decodable, Equatable, Sendable {
    package let revived: ScopeReply
    /// The epoch of the revival itself; `nil` if an older gateway doesn't report it.
    package let epoch: UInt64?
    package let lifted: [Kill]?
    package let killed: [ScopeReply]

    /// A kill that is no longer active.
    package struct Kill: Decodable, Equatable, Sendable {
        package let id: String
        package let epoch: UInt64
    }
}

/// All replicas of the store.
package struct ReplicasReply: Decodable, Equatable, Sendable {
    package let replicas: [Replica]

    package struct Replica: Decodable, Equatable, Sendable {
        package let name: String
        package let boot: String
        package let this: Bool
        package let leaseMilliseconds: Int64
        package let acknowledged: UInt64
        package let expelled: Bool
        /// `false` if its record can't be opened.
        package let readable: Bool?
        package let joinedAt: String?

        private enum CodingKeys: String, CodingKey {
            case name, boot, this, acknowledged, expelled, readable
            case leaseMilliseconds = "lease_ms"
            case joinedAt = "joined_at"
        }
    }
}

/// A replica that is being removed from the list.
package struct ForgottenReplicaReply: Decodable, Equatable, Sendable {
    package let name: String
    package let state: String
    package let until: String?
}

/// Finds the kill that an order has started. The kill's id is not known before the order's response, so the kill is
/// first found in the list of all kills by its scope and reason. Later requests ask for that kill alone, because the
/// gateway reads every report that it returns from the store.
package struct KillFinder: Sendable {
    private let scope: ScopeReply
    private let reason: String
    private var id: String?

    package init(of scope: ScopeReply, reason: String) {
        self.scope = scope
        self.reason = reason
    }

    /// The next request to send.
    package var request: AdminRequest { self.id.map { .killReport($0) } ?? .kills }

    /// The kill according to the response to ``request``; `nil` if the response doesn't contain it, or if the kill is
    /// complete.
    package mutating func kill(in reply: AdminReply) -> KillReply? {
        guard self.id == nil else {
            let kill = try? reply.read(KillReply.self)
            // Without the store the report can't be read. The list contains what the gateway knows by itself.
            if kill == nil { self.id = nil }
            return kill?.isComplete == false ? kill : nil
        }
        let kills = try? reply.read(KillsReply.self).kills
        let kill = kills?.first { $0.scope == self.scope && $0.reason == self.reason && !$0.isComplete }
        self.id = kill?.id
        return kill
    }
}
