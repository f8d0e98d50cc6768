internal import KillSwitch
internal import TokenModel

/// All known replicas.
struct ReplicasResponse: Encodable, Sendable {
    let replicas: [Replica]

    init(_ listing: ReplicaVault.Listing, this incarnation: IncarnationID) {
        self.replicas =
            listing.entries.map { Replica($0, isThis: $0.record.incarnation == incarnation) }
            + listing.unreadable.map(Replica.init)
    }

    struct Replica: Encodable, Sendable {
        let name: String
        let boot: String
        let this: Bool
        let leaseMilliseconds: Int64
        let acknowledged: UInt64
        let expelled: Bool
        /// `false` if its record can't be read. A kill then waits for this replica until its record can be read or is
        /// forgotten.
        let readable: Bool
        let joinedAt: String?

        init(_ entry: ReplicaVault.Entry, isThis: Bool) {
            self.name = entry.record.name
            self.boot = entry.record.incarnation.rawValue
            self.this = isThis
            self.leaseMilliseconds = entry.record.lease.clampedNanoseconds / 1_000_000
            self.acknowledged = entry.record.acknowledged.rawValue
            self.expelled = entry.record.isExpelled
            self.readable = true
            self.joinedAt = entry.record.joinedAt.rfc3339
        }

        /// A replica whose record can't be read.
        init(_ id: ReplicaID) {
            self.name = id.unreadableName
            self.boot = id.rawValue
            self.this = false
            self.leaseMilliseconds = 0
            self.acknowledged = 0
            self.expelled = false
            self.readable = false
            self.joinedAt = nil
        }

        private enum Key: String, CodingKey {
            case name, boot, this, acknowledged, expelled, readable
            case leaseMilliseconds = "lease_ms"
            case joinedAt = "joined_at"
        }

        func encode(to encoder: any Encoder) throws {
            var members = encoder.container(keyedBy: Key.self)
            try members.encode(self.name, forKey: .name)
            try members.encode(self.boot, forKey: .boot)
            try members.encode(self.this, forKey: .this)
            try members.encode(self.leaseMilliseconds, forKey: .leaseMilliseconds)
            try members.encode(self.acknowledged, forKey: .acknowledged)
            try members.encode(self.expelled, forKey: .expelled)
            try members.encode(self.readable, forKey: .readable)
            try members.encode(self.joinedAt, forKey: .joinedAt)
        }
    }
}

/// A replica that is being forgotten.
struct ForgottenReplicaResponse: Encodable, Sendable {
    let name: String
    /// `expelled` until its record is removed, then `forgotten`.
    let state: String
    let until: String?

    init(_ expulsion: ReplicaExpulsion) {
        self.name = expulsion.name
        self.state = expulsion.until == nil ? "forgotten" : "expelled"
        self.until = expulsion.until?.rfc3339
    }

    private enum Key: String, CodingKey { case name, state, until }

    func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Key.self)
        try members.encode(self.name, forKey: .name)
        try members.encode(self.state, forKey: .state)
        try members.encode(self.until, forKey: .until)
    }
}
