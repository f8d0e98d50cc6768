package import OAuth
package import TokenModel
internal import TokenStorage

/// The outcomes for killed tokens.
extension Revoker {
    /// The outcomes for the tokens that the kill numbered `epoch` took away. Reads one record.
    func tokens(of epoch: Epoch) async throws(StoreError) -> KillReport.Tokens {
        var tokens = KillReport.Tokens()
        guard let tally = try await self.tallies.tally(of: epoch) else { return tokens }
        tokens.isCounted = true
        tokens.isCollected = tally.isCollected
        tokens.waiting = tally.count(.waiting)
        tokens.inFlight = self.claims.accounts(killedBy: epoch)
        tokens.revoked = tally.count(.revoked)
        tokens.refused = tally.count(.refused)
        tokens.clientRefused = tally.count(.clientRefused)
        tokens.unsupported = tally.count(.unsupported)
        tokens.givenUp = tally.count(.givenUp)
        tokens.unreachable = tally.count(.unreachable) + tokens.givenUp
        let now = self.timepiece.now
        let open = tally.open
        tokens.nextTryAt = open.keys
            .compactMap { provider in self.lanes.look { $0.nextTry(self.revocations.lane(of: provider)) } }.min()
            .map { now.wall.advanced(by: max(now.boot.duration(to: $0), .zero)) }
        let speeds = open.keys.map { provider in
            self.lanes.look { $0.speed(self.revocations.lane(of: provider), now: now.boot) }
        }
        // One provider that can't be asked leaves the end unknown.
        guard !open.isEmpty, speeds.allSatisfy({ $0 != nil }) else { return tokens }
        // A provider's tokens have their turn in random order, whichever kill they belong to.
        let times = zip(open.keys, speeds).map { provider, speed in
            Duration.seconds(Double(self.tallies.open(at: provider)) / max(speed ?? 1, 0.01))
        }
        tokens.perSecond = Int(speeds.reduce(0) { $0 + ($1 ?? 0) }.rounded())
        tokens.estimatedEnd = times.max().map { now.wall.advanced(by: $0) }
        return tokens
    }

    /// Counts the tokens of these kills once more that have none left to revoke, and notes the result for good.
    func finishTallies(of kills: [Epoch]) async throws(StoreError) {
        for epoch in kills where !self.tallies.isFinal(epoch) {
            guard !Task.isCancelled else { return }
            guard self.claims.accounts(killedBy: epoch) == 0 else { continue }
            try await self.tallies.finish(epoch) { providers in
                let lanes = Set(providers.map(self.revocations.lane))
                return self.lanes.look { $0.isWorkedOff(epoch, in: lanes) }
            } count: { () async throws(StoreError) in
                try await self.count(epoch)
            }
        }
    }

    /// Counts the settled tokens of a kill, a page at a time.
    private func count(_ epoch: Epoch) async throws(StoreError) -> KillTally {
        var tally = KillTally()
        var after: RecordKey?
        while true {
            let page = try await self.revocations.settled(by: epoch, after: after, limit: StoreGuarantees.listing)
            guard let last = page.last else { return tally }
            for (_, entry) in page.entries { tally.add(1, .init(entry.record), at: entry.record.binding.provider) }
            after = last
        }
    }

    /// It is unknown whether a record that does not open was killed. The account's own state shows that it does not
    /// open.
    private func recordIfOpens(of account: AccountID) async throws(StoreError) -> AccountRecord? {
        do throws(StoreError) {
            return try await self.accounts.read(account)?.record
        } catch {
            guard error.code == .unreadable else { throw error }
            return nil
        }
    }

    /// A page of the tokens that the kill numbered `epoch` took away: first those that wait, then the settled ones, those of
    /// one account together. A token that is settled meanwhile may appear twice, but is never missed.
    ///
    /// - Parameter after: the cursor of the page before.
    /// - Returns: also the cursor for the next page; `nil` after the last one.
    func revocations(
        of epoch: Epoch,
        after: RecordKey?,
        limit: Int
    ) async throws(StoreError) -> (records: [RevocationRecord], next: RecordKey?) {
        var (found, after) = ([RevocationRecord](), after)
        let settled = RecordKey.Prefix.revoked(by: epoch.rawValue)
        if after.map({ !settled.contains($0) }) ?? true {
            while true {
                let page = try await self.revocations.page(under: .revocations, after: after)
                for (key, entry) in page.entries where entry.record.epoch == epoch {
                    found.append(entry.record)
                    if found.count == limit { return (found, key) }
                }
                guard let last = page.last else { break }
                after = last
            }
            after = nil
        }
        while true {
            let page = try await self.revocations.settled(by: epoch, after: after, limit: StoreGuarantees.listing)
            for (key, entry) in page.entries {
                found.append(entry.record)
                if found.count == limit { return (found, key) }
            }
            guard let last = page.last else { return (found, nil) }
            after = last
        }
    }

    /// The tokens of an account that any kill or removal took away and that are not revoked yet, without those that
    /// were given up or have expired.
    func unrevoked(
        of account: AccountID,
        _ epochs: KillEpochs,
        besides settled: [Secret]
    ) async throws(StoreError) -> [UnrevokedToken] {
        let now = self.timepiece.now.wall
        // First come the tokens that are still in their account's record. Each is stored for revocation before it
        // leaves the account, and counts once.
        let left = try await self.left(of: account, epochs)
        let written = try await self.revocations.open(of: account)
        let open = left.filter { one in !written.contains { $0.record.token == one.record.token } } + written
        let waiting = open.filter { _, record in
            record.token.map(settled.contains) != true && record.endsAt.map { now < $0 } ?? true
        }
        return waiting.map { key, record in
            UnrevokedToken(
                kind: record.kind,
                reason: self.target(record.binding) == nil ? .notConfigured : .waiting,
                endsAt: record.endsAt,
                nextTryAt: self.nextTry(record, at: key)
            )
        }
    }

    /// Dead tokens that are still in the account's record, in the form in which they will be stored.
    private func left(
        of account: AccountID,
        _ epochs: KillEpochs
    ) async throws(StoreError) -> [(key: RecordKey, record: RevocationRecord)] {
        guard let record = try await self.recordIfOpens(of: account), let epoch = epochs.killer(of: record, account)
        else { return [] }
        return RevocationRecord.tokens(of: record, account, killedBy: epoch, at: self.timepiece.now.wall)
            .compactMap { revocation in self.revocations.key(of: revocation).map { ($0, revocation) } }
    }
}

/// A token that was taken away from its account and that its provider has not revoked yet.
package struct UnrevokedToken: Equatable, Sendable {
    package let kind: RevocableToken
    /// Whether its provider is asked automatically, or can't be asked.
    package let reason: VerdictReason
    /// When the token expires, if known.
    package let endsAt: WallTime?
    /// When this process asks again; `nil` while it is asking, and where it does not know.
    package let nextTryAt: WallTime?
}
