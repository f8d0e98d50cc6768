internal import Synchronization
internal import TokenModel
internal import TokenStorage

/// Claims of others that hold this process up, each to be looked at once a second until it has gone or lapsed.
final class WatchedClaims: Sendable {
    /// Where a claim stands.
    enum Place: Hashable, Sendable {
        /// A killed account, of which a refresh is under way.
        case account(AccountID)
        /// A token that another process takes to its provider.
        case revocation(RecordKey)
    }

    private let watches = Mutex<[Place: ClaimWatch]>([:])
    /// Rings when there is something to look at.
    let bell = Bell()

    /// What is to be looked at.
    var places: [Place] { self.watches.withLock { Array($0.keys) } }

    /// Takes note of a read that found `claim` in the record's `version`. From now on it is looked at.
    ///
    /// - Returns: whether it has lapsed, and may be broken by a write that expects `version`.
    func saw(
        _ claim: AccountRecord.Claim,
        in version: Version,
        at place: Place,
        now: BootInstant
    ) -> Bool {
        defer { self.bell.ring() }
        return self.watches.withLock { $0[place, default: ClaimWatch()].saw(claim, in: version, at: now) }
    }

    /// There is no claim any more, or nobody waits for its end.
    func forget(_ place: Place) { self.watches.withLock { $0[place] = nil } }

    /// Nothing is looked at any more.
    func stop() { self.bell.finish() }
}
