internal import Synchronization
internal import TokenModel
internal import TokenStorage

/// Claims of others, on killed accounts and on tokens that are being revoked.
extension Revoker {
    /// Whether a claim that was just read may be broken: it has lapsed, or whoever holds it has ended for certain. Else it is
    /// looked at from now on.
    func mayBreak(
        _ claim: AccountRecord.Claim,
        in version: Version,
        at place: WatchedClaims.Place
    ) async -> Bool {
        if claim.incarnation != self.incarnation, await self.witness.isDead(claim.incarnation) { return true }
        return self.claims.saw(claim, in: version, at: place, now: self.timepiece.now.boot)
    }

    /// One look at each claim that is waited for. To be called at least every 2 s: a longer gap starts a claim's time anew.
    ///
    /// - Returns: whether there are tokens that nobody has a claim on any more.
    func lookAtClaims(_ epochs: KillEpochs) async -> Bool {
        var isAnyFree = false
        // What the store does not say now it says at the next look.
        try? await self.claims.places.readEach { place throws(StoreError) in
            switch place {
            case .account(let account):
                try await self.sweep(account, epochs)
                return false
            case .revocation(let key):
                return await self.isFree(key)
            }
        } found: { _, isFree in
            isAnyFree = isAnyFree || isFree
        }
        return isAnyFree
    }

    /// Whether nobody has a claim on a token any more, after a look at it.
    private func isFree(_ key: RecordKey) async -> Bool {
        do throws(StoreError) {
            if let stored = try await self.revocations.read(key), let claim = stored.record.claim {
                guard await self.mayBreak(claim, in: stored.version, at: .revocation(key)) else { return false }
                var record = stored.record
                record.claim = nil
                guard try await self.revocations.write(record, at: key, expecting: stored.version) != nil else {
                    return false
                }
            }
        } catch {
            guard error.code == .unreadable else { return false }
        }
        self.claims.forget(.revocation(key))
        return true
    }
}

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
