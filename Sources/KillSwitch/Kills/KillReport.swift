package import TokenModel
internal import TokenStorage

/// How far a kill has come.
package struct KillReport: Equatable, Sendable {
    package enum State: String, Sendable {
        /// No replica puts a killed token into a request any more, and none ever will.
        case complete
        /// Somebody has not said so yet.
        case pending
    }

    /// How far the store has taken it.
    package enum Store: String, Sendable {
        /// The kill stands there.
        case reachable
        /// It may not stand there: this replica has stopped, and any other does when it can't read the store for its lease.
        case unreachable
        /// It does not stand there, since nothing can be written: replicas that can still read go on.
        case unwritable
    }

    /// One replica that was waited for.
    package struct Replica: Equatable, Sendable {
        package let name: String
        package let state: KillWatch.State
        /// When it will be past its lease; `nil` where nobody waits for it.
        package let until: WallTime?

        package init(name: String, state: KillWatch.State, until: WallTime? = nil) {
            self.name = name
            self.state = state
            self.until = until
        }
    }

    /// What became of the tokens at their providers.
    package struct Tokens: Equatable, Sendable {
        /// They were counted; else all of the following is nought, and says nothing.
        package var isCounted = false
        /// Not revoked yet.
        package var waiting = 0
        /// Accounts whose refresh was under way: tokens may come that nobody knows yet.
        package var inFlight = 0
        package var revoked = 0
        package var refused = 0
        /// The provider refuses the client, and is asked again.
        package var clientRefused = 0
        package var unsupported = 0
        package var unreachable = 0
        /// Those of ``unreachable`` that no provider is asked about any more: they were never revoked.
        package var givenUp = 0
        /// When this process asks a provider again about the first of those that wait; `nil` where it knows of none.
        package var nextTryAt: WallTime?

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
    /// ``Epoch/start`` while it does not stand in the store.
    package let epoch: Epoch
    package var state: State
    package var store = Store.reachable
    /// The scope was killed already when it came.
    package var wasKilled = false
    /// The store did not take it at once: it is among ``KillSwitch/keptKills`` when it stands. Only for who ordered it.
    package var wasKept = false
    package var replicas: [Replica]
    package var tokens = Tokens()
    /// Requests of this replica that were left to end.
    package var draining = 0
    package let startedAt: WallTime
    package var completedAt: WallTime?
    /// When new tokens of the scope were let in again; what it killed stays dead.
    package var revivedAt: WallTime?
}

/// The kills there are, as far as could be found out.
package struct KillListing: Equatable, Sendable {
    /// The last first.
    package var reports: [KillReport]
    /// The log was read to its end. Else there may be kills that this process has not heard of.
    package var isWhole: Bool
}

/// What is kept of a kill once it is complete.
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
