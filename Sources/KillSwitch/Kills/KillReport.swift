package import TokenModel
internal import TokenStorage

/// The progress of one kill.
package struct KillReport: Equatable, Sendable {
    package enum State: String, Sendable {
        /// No replica puts a killed token into a request any more, and none ever will.
        case complete
        /// At least one replica has not acknowledged yet.
        case pending
    }

    /// Whether the store has the kill.
    package enum Store: String, Sendable {
        /// The kill is in the store.
        case reachable
        /// The kill may not be in the store. This replica has stopped; any other stops when it can't read the store for
        /// its lease.
        case unreachable
        /// The kill is not in the store, because nothing can be written. Replicas that can still read go on.
        case unwritable
        /// This replica is locked and uses no store. It writes the kill when it is unlocked. Other replicas go on.
        case locked
    }

    /// One replica that the kill waited for.
    package struct Replica: Equatable, Sendable {
        package let name: String
        package let state: KillWatch.State
        /// When its lease has expired for certain; `nil` where the kill does not wait for it.
        package let until: WallTime?

        package init(name: String, state: KillWatch.State, until: WallTime? = nil) {
            self.name = name
            self.state = state
            self.until = until
        }
    }

    /// What became of the tokens at their providers.
    package struct Tokens: Equatable, Sendable {
        /// Whether the tokens were counted. If not, all of the following are zero and mean nothing.
        package var isCounted = false
        /// Whether all accounts were looked through since the kill. If not, there may be more tokens.
        package var isCollected = false
        /// Tokens that are not revoked yet.
        package var waiting = 0
        /// Accounts with a refresh in progress, which may bring tokens that are not known yet.
        package var inFlight = 0
        package var revoked = 0
        package var refused = 0
        /// The provider refuses the client. It is asked again.
        package var clientRefused = 0
        package var unsupported = 0
        package var unreachable = 0
        /// Those of ``unreachable`` that were never revoked, and for which no provider is asked any more.
        package var givenUp = 0
        /// The earliest time at which this process asks a provider again about a waiting token; `nil` where it knows of
        /// none.
        package var nextTryAt: WallTime?
        /// When the last token is revoked at the latest, if it goes on as it does now: the provider may revoke those of
        /// other kills first. `nil` where nothing waits, and where a provider can't be asked at the moment.
        package var estimatedEnd: WallTime?
        /// How many tokens a second this process has revoked by their providers; `nil` as for ``estimatedEnd``.
        package var perSecond: Int?

        package init() {}

        package var total: Int {
            self.waiting + self.inFlight + self.revoked + self.refused + self.clientRefused + self.unsupported
                + self.unreachable
        }
    }

    package let id: KillID
    package let scope: KillScope
    package let reason: String
    package let streams: KillStreams
    /// ``Epoch/start`` while the kill is not in the store.
    package let epoch: Epoch
    package var state: State
    package var store = Store.reachable
    /// The scope was already killed when this kill came.
    package var wasKilled = false
    /// The store did not take the kill at once: it appears in ``KillSwitch/keptKills`` when it is in the store. Set
    /// only in the report for the caller that ordered it.
    package var wasKept = false
    package var replicas: [Replica]
    /// Where this replica is locked, the replicas that took kills when it was locked.
    package var canDoItNow: [String] = []
    package var tokens = Tokens()
    /// Requests of this replica that were left to finish.
    package var draining = 0
    package let startedAt: WallTime
    package var completedAt: WallTime?
    /// When new tokens of the scope were allowed again. What the kill killed stays dead.
    package var revivedAt: WallTime?
}

/// The known kills, and whether that is all of them.
package struct KillListing: Equatable, Sendable {
    /// The newest first.
    package var reports: [KillReport]
    /// Whether the log was read to its end. If not, there may be kills that this process does not know.
    package var isWhole: Bool
}

/// The result of a kill, kept once the kill is complete.
struct KillEnd: Equatable, Sendable {
    var replicas: [KillReport.Replica]
    var draining: Int
    var completedAt: WallTime
}

extension KillEnd: SealableRecord {
    private static let format: UInt8 = 1

    func encoded() -> Secret {
        let writer = FieldWriter(format: Self.format)
        writer.write(self.replicas) { replica in
            writer.write(replica.name)
            writer.write(replica.state.rawValue)
        }
        writer.write(Int64(self.draining))
        writer.write(self.completedAt.millisecondsSince1970)
        return writer.finish()
    }

    /// - Throws: ``StoreError/Code/unreadable`` for bytes that ``encoded()`` did not write.
    init(decoding bytes: Secret) throws(StoreError) {
        var reader = try FieldReader(bytes, formats: Self.format...Self.format)
        self.replicas = try reader.readArray { reader throws(StoreError) in
            let name: String = try reader.read()
            guard let state = KillWatch.State(rawValue: try reader.read()) else {
                throw FieldReader.malformed("an unknown state of a replica")
            }
            return KillReport.Replica(name: name, state: state)
        }
        self.draining = Int(try reader.read(Int64.self))
        self.completedAt = WallTime(millisecondsSince1970: try reader.read())
        try reader.finish()
    }
}
