/// What a kill is about, as the admin API shows and takes it.
package struct ScopeReply: Codable, Equatable, Sendable {
    package let all: Bool?
    package let provider: String?
    package let account: String?

    package var text: String {
        if let provider { return "provider \(provider)" }
        if let account { return "account \(account)" }
        return "everything"
    }

    /// As `martlet kill` and `martlet revive` take it.
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
    /// `reachable`, or what keeps the kill from standing there; `nil` where a gateway of before says nothing of it.
    package let store: String?
    /// Its place in the log; `nil` where it has none yet.
    package let epoch: UInt64?
    /// Its scope was killed before.
    package let wasKilled: Bool?
    package let replicas: [Replica]
    package let tokens: Tokens
    package let draining: Int
    package let startedAt: String
    package let completedAt: String?
    /// When its scope was revived; `nil` while it holds, or where a gateway of before says nothing of it.
    package let revivedAt: String?
    /// Whether the order stands in the audit log; only in the answer to it.
    package let audited: Bool?

    package struct Replica: Decodable, Equatable, Sendable {
        package let name: String
        package let state: String
        package let until: String?
    }

    package struct Tokens: Decodable, Equatable, Sendable {
        /// Whether the numbers say anything; `nil` where a gateway of before counts them always.
        package let isCounted: Bool?
        package let total: Int
        package let waiting: Int
        package let inFlight: Int
        package let revoked: Int
        package let refused: Int
        /// `nil` where a gateway of before counts these as unreachable.
        package let clientRefused: Int?
        package let unsupported: Int
        package let unreachable: Int
        /// Of those the ones that no provider is asked about any more; `nil` where a gateway of before says nothing of
        /// it.
        package let givenUp: Int?
        /// When a provider is asked again about the first of those that wait; `nil` where that is not known.
        package let nextTryAt: String?

        private enum CodingKeys: String, CodingKey {
            case total, waiting, revoked, refused, unsupported, unreachable
            case isCounted = "counted"
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
    }

    package var isComplete: Bool { self.state == "complete" }
}

/// All kills, the last first.
package struct KillsReply: Decodable, Equatable, Sendable {
    package let kills: [KillReply]
    /// `unreachable`: there may be others; `nil` where a gateway of before says nothing of it.
    package let store: String?

    /// There may be kills that the gateway has not heard of.
    package var isIncomplete: Bool { self.store == "unreachable" }
}

/// What is still killed after a revival.
package struct RevivalReply: Decodable, Equatable, Sendable {
    package let revived: ScopeReply
    /// Of the revival itself; `nil` where a gateway of before says nothing of it.
    package let epoch: UInt64?
    package let lifted: [Kill]?
    package let killed: [ScopeReply]

    /// A kill that holds no longer.
    package struct Kill: Decodable, Equatable, Sendable {
        package let id: String
        package let epoch: UInt64
    }
}

/// The replicas there are.
package struct ReplicasReply: Decodable, Equatable, Sendable {
    package let replicas: [Replica]

    package struct Replica: Decodable, Equatable, Sendable {
        package let name: String
        package let boot: String
        package let this: Bool
        package let leaseMilliseconds: Int64
        package let acknowledged: UInt64
        package let expelled: Bool
        /// `false`: its record does not open.
        package let readable: Bool?
        package let joinedAt: String?

        private enum CodingKeys: String, CodingKey {
            case name, boot, this, acknowledged, expelled, readable
            case leaseMilliseconds = "lease_ms"
            case joinedAt = "joined_at"
        }
    }
}

/// A replica that is being forgotten.
package struct ForgottenReplicaReply: Decodable, Equatable, Sendable {
    package let name: String
    package let state: String
    package let until: String?
}

/// Finds the kill that an order has begun, whose id nobody is told before its answer: in the list of all, by what it says.
/// From then on it alone is asked for, as each report is read from the store anew.
package struct KillSighting: Sendable {
    private let scope: ScopeReply
    private let reason: String
    private var id: String?

    package init(of scope: ScopeReply, reason: String) {
        self.scope = scope
        self.reason = reason
    }

    /// What to ask next.
    package var request: AdminRequest { self.id.map { .killReport($0) } ?? .kills }

    /// The kill by the answer to ``request``; `nil` where that does not tell, or the kill is complete.
    package mutating func kill(in reply: AdminReply) -> KillReply? {
        guard self.id == nil else {
            let kill = try? reply.read(KillReply.self)
            // Without the store a report can't be read: what the gateway knows by itself stands in the list.
            if kill == nil { self.id = nil }
            return kill?.isComplete == false ? kill : nil
        }
        let kills = try? reply.read(KillsReply.self).kills
        let kill = kills?.first { $0.scope == self.scope && $0.reason == self.reason && !$0.isComplete }
        self.id = kill?.id
        return kill
    }
}
