internal import KillSwitch
internal import OAuth
internal import TokenModel

/// A kill as the API shows it. Every member except `audited` and `can_do_it_now` is always present; a
/// member without a value is `null`.
struct KillResponse: Encodable, Sendable {
    private let report: KillReport
    /// Present only in the response to the order.
    private let isAudited: Bool?

    /// - Parameter isAudited: whether the order is recorded in the audit log.
    init(_ report: KillReport, isAudited: Bool? = nil) {
        self.report = report
        self.isAudited = isAudited
    }

    private enum Key: String, CodingKey {
        case id, scope, reason, state, store, epoch, streams, replicas, tokens, draining, audited
        case wasKilled = "was_killed"
        case startedAt = "started_at"
        case completedAt = "completed_at"
        case canDoItNow = "can_do_it_now"
        case revivedAt = "revived_at"
    }

    func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Key.self)
        try members.encode(self.report.id.rawValue, forKey: .id)
        try members.encode(ScopeResponse(self.report.scope), forKey: .scope)
        try members.encode(self.report.reason, forKey: .reason)
        try members.encode(self.report.state.rawValue, forKey: .state)
        try members.encode(self.report.store.rawValue, forKey: .store)
        // A kill that is not in the log yet has no epoch.
        try members.encode(self.report.epoch == .start ? nil : self.report.epoch.rawValue, forKey: .epoch)
        try members.encode(self.report.wasKilled, forKey: .wasKilled)
        try members.encode(self.report.streams.rawValue, forKey: .streams)
        try members.encode(self.report.replicas.map(ReplicaStateResponse.init), forKey: .replicas)
        if self.report.store == .locked { try members.encode(self.report.canDoItNow, forKey: .canDoItNow) }
        try members.encode(Tokens(self.report.tokens), forKey: .tokens)
        try members.encode(self.report.draining, forKey: .draining)
        try members.encode(self.report.startedAt.rfc3339, forKey: .startedAt)
        try members.encode(self.report.completedAt?.rfc3339, forKey: .completedAt)
        try members.encode(self.report.revivedAt?.rfc3339, forKey: .revivedAt)
        try members.encodeIfPresent(self.isAudited, forKey: .audited)
    }

    private struct Tokens: Encodable {
        /// `false` in the response to the order: the numbers mean nothing yet.
        let isCounted: Bool
        /// `false` while accounts are still looked through: there may be more tokens.
        let isCollected: Bool
        let total: Int
        let waiting: Int
        let inFlight: Int
        let revoked: Int
        let refused: Int
        let clientRefused: Int
        let unsupported: Int
        let unreachable: Int
        /// The unreachable tokens about which no provider is asked any more.
        let givenUp: Int
        /// Left out if it is unknown, or if no token waits.
        let nextTryAt: String?
        /// When the last token is revoked, if it goes on like this, and how many that are a second. Left out where nothing
        /// waits, or a provider can't be asked at the moment.
        let estimatedEnd: String?
        let perSecond: Int?

        init(_ tokens: KillReport.Tokens) {
            self.isCounted = tokens.isCounted
            self.isCollected = tokens.isCollected
            self.total = tokens.total
            self.waiting = tokens.waiting
            self.inFlight = tokens.inFlight
            self.revoked = tokens.revoked
            self.refused = tokens.refused
            self.clientRefused = tokens.clientRefused
            self.unsupported = tokens.unsupported
            self.unreachable = tokens.unreachable
            self.givenUp = tokens.givenUp
            self.nextTryAt = tokens.nextTryAt?.rfc3339
            self.estimatedEnd = tokens.estimatedEnd?.rfc3339
            self.perSecond = tokens.perSecond
        }

        private enum CodingKeys: String, CodingKey {
            case total, waiting, revoked, refused, unsupported, unreachable
            case isCounted = "counted"
            case isCollected = "collected"
            case inFlight = "in_flight"
            case clientRefused = "client_refused"
            case givenUp = "given_up"
            case nextTryAt = "next_try_at"
            case estimatedEnd = "estimated_end"
            case perSecond = "per_second"
        }
    }
}

/// The scope of a kill: one member, named after the kind of scope.
struct ScopeResponse: Encodable, Sendable {
    private let scope: KillScope

    init(_ scope: KillScope) {
        self.scope = scope
    }

    private enum Key: String, CodingKey { case all, provider, account }

    func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Key.self)
        switch self.scope {
        case .all: try members.encode(true, forKey: .all)
        case .provider(let provider): try members.encode(provider.rawValue, forKey: .provider)
        case .account(let account): try members.encode(account.rawValue, forKey: .account)
        }
    }
}

/// All known kills, the newest first.
struct KillsResponse: Encodable, Sendable {
    let kills: [KillResponse]
    /// `unreachable` if this replica has not read the whole log, so that there may be other kills.
    let store: String

    init(_ listing: KillListing) {
        self.kills = listing.reports.map { KillResponse($0) }
        self.store = (listing.isWhole ? KillReport.Store.reachable : .unreachable).rawValue
    }
}

/// What was revived, the epoch of the revival's log entry, the lifted kills, and what is still killed.
struct RevivalResponse: Encodable, Sendable {
    let revived: ScopeResponse
    let epoch: UInt64
    let lifted: [Kill]
    let killed: [ScopeResponse]

    init(_ scope: KillScope, _ revival: KillRevival, killed: Set<KillScope>) {
        self.revived = ScopeResponse(scope)
        self.epoch = revival.epoch.rawValue
        self.lifted = revival.lifted.map { Kill(id: $0.id.rawValue, epoch: $0.epoch.rawValue) }
        self.killed = killed.sorted { $0.text < $1.text }.map(ScopeResponse.init)
    }

    /// A kill that no longer holds.
    struct Kill: Encodable, Sendable {
        let id: String
        let epoch: UInt64
    }
}

/// A page of the outcomes for the tokens that a kill took away. It contains no token.
struct KilledTokensResponse: Encodable, Sendable {
    let tokens: [Token]
    /// The `after` of a request for the next page; `nil` on the last page.
    let next: String?

    init(_ records: [RevocationRecord], next: String?) {
        self.tokens = records.map(Token.init)
        self.next = next
    }

    private enum Key: String, CodingKey { case tokens, next }

    func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Key.self)
        try members.encode(self.tokens, forKey: .tokens)
        try members.encode(self.next, forKey: .next)
    }

    struct Token: Encodable, Sendable {
        private let record: RevocationRecord

        init(_ record: RevocationRecord) {
            self.record = record
        }

        private enum Key: String, CodingKey {
            case account, kind, outcome
            case endsAt = "ends_at"
        }

        func encode(to encoder: any Encoder) throws {
            var members = encoder.container(keyedBy: Key.self)
            try members.encode(self.record.account.rawValue, forKey: .account)
            try members.encode(self.record.kind == .refreshToken ? "refresh" : "access", forKey: .kind)
            try members.encode(self.record.outcome.rawValue, forKey: .outcome)
            try members.encode(self.record.endsAt?.rfc3339, forKey: .endsAt)
        }
    }
}
