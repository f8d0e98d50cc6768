internal import Synchronization
internal import TokenModel
internal import TokenStorage

/// Other processes' claims on killed accounts and on tokens that are being revoked.
extension Revoker {
    /// Whether a claim that was just read may be broken: it has lapsed, or its process has ended for certain. If not,
    /// the claim is watched from now on.
    ///
    /// - Parameter epoch: the kill that took tokens of the record away.
    func mayBreak(
        _ claim: AccountRecord.Claim,
        in version: Version,
        at place: WatchedClaims.Place,
        by epoch: Epoch
    ) async -> Bool {
        if claim.incarnation != self.incarnation, await self.witness.isDead(claim.incarnation) { return true }
        return self.claims.saw(claim, in: version, at: place, by: epoch, now: self.timepiece.now.boot)
    }

    /// The providers whose tokens wait (``RevocationVault/lanes(_:)``).
    func listLanes() async throws(StoreError) -> [RevocationLane] {
        try await self.revocations.lanes { claim, entry, key in
            await self.mayBreak(claim, in: entry.version, at: .revocation(key), by: entry.record.epoch)
        }
    }

    /// Looks once at each watched claim. Call it at least every 2 s: after a longer gap the time of a claim starts
    /// again.
    ///
    /// - Returns: whether there are tokens that no process has a claim on any more.
    func lookAtClaims(_ epochs: KillEpochs) async -> Bool {
        var isAnyFree = false
        // What the store does not tell now, the next look finds.
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

    /// Looks at a token, and returns whether no process has a claim on it any more.
    private func isFree(_ key: RecordKey) async -> Bool {
        do throws(StoreError) {
            if let stored = try await self.revocations.read(key), let claim = stored.record.claim {
                guard await self.mayBreak(claim, in: stored.version, at: .revocation(key), by: stored.record.epoch)
                else { return false }
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

/// Other processes' claims that hold this process up. It looks at each once a second until the claim is gone or has
/// lapsed.
final class WatchedClaims: Sendable {
    /// The record that holds a claim.
    enum Place: Hashable, Sendable {
        /// A killed account with a refresh in progress.
        case account(AccountID)
        /// A token that another process is having revoked.
        case revocation(RecordKey)
    }

    private let watches = Mutex<[Place: (watch: ClaimWatch, killer: Epoch)]>([:])
    /// Rings when there is a claim to look at.
    let bell = Bell()

    /// The records to look at.
    var places: [Place] { self.watches.withLock { Array($0.keys) } }

    /// Notes a read that found `claim` in the record's `version`. From now on the claim is watched.
    ///
    /// - Returns: whether the claim has lapsed, and may be broken by a write that expects `version`.
    func saw(
        _ claim: AccountRecord.Claim,
        in version: Version,
        at place: Place,
        by epoch: Epoch,
        now: BootInstant
    ) -> Bool {
        defer { self.bell.ring() }
        return self.watches.withLock { watches in
            var watch = watches[place]?.watch ?? ClaimWatch()
            defer { watches[place] = (watch, epoch) }
            return watch.saw(claim, in: version, at: now)
        }
    }

    /// How many accounts that this kill took the tokens of have a refresh in progress.
    func accounts(killedBy epoch: Epoch) -> Int {
        self.watches.withLock { watches in
            watches.count { place, watched in
                guard case .account = place else { return false }
                return watched.killer == epoch
            }
        }
    }

    /// The claim is gone, or this process does not wait for its end any more.
    func forget(_ place: Place) { self.watches.withLock { $0[place] = nil } }

    /// Stops watching all claims.
    func stop() { self.bell.finish() }
}
