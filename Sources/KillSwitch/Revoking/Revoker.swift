internal import Logging
internal import OAuth
package import ProviderClient
internal import Synchronization
internal import TokenModel
package import TokenStorage

/// Takes killed tokens out of the accounts' records, and has their providers revoke them (RFC 7009).
///
/// A token is first written down as one to be revoked, then taken out of its account's record: it is never lost in
/// between, and never used again. Every replica does this; whoever comes second finds it done. One of them asks the
/// provider: its claim stands in the token's record meanwhile.
package struct Revoker: Sendable {
    /// Where tokens made for somebody are revoked.
    package typealias Endpoints = @Sendable (AccountRecord.Binding) -> (any TokenEndpoint)?

    let revocations: RevocationVault
    let accounts: AccountVault
    let incarnation: IncarnationID
    /// Knows which other incarnations have ended for certain.
    let witness: any IncarnationWitness
    let timepiece: Timepiece
    let logger: Logger
    let endpoint: Endpoints
    let schedule = RevocationSchedule()
    let claims = WatchedClaims()

    init(
        _ records: SealedRecords,
        incarnation: IncarnationID,
        witness: any IncarnationWitness,
        timepiece: Timepiece,
        logger: Logger,
        endpoint: @escaping Endpoints
    ) {
        self.revocations = RevocationVault(records)
        self.accounts = AccountVault(records)
        self.incarnation = incarnation
        self.witness = witness
        self.timepiece = timepiece
        self.logger = logger
        self.endpoint = endpoint
    }

    /// Moves what is dead by `epochs` out of the accounts' records.
    func sweep(_ epochs: KillEpochs) async throws(StoreError) {
        var dead: [AccountID] = []
        try await self.accounts.forEach { account, entry in
            if epochs.killer(of: entry.record, account) != nil { dead.append(account) }
        }
        for account in dead {
            // What is left is swept at the next start: thousands of accounts must not hold up the end of the process.
            guard !Task.isCancelled else { return }
            try await self.sweep(account, epochs)
        }
    }

    /// The same for one account. One that does not open, or that another writes just now, does not keep the rest from being
    /// swept.
    func sweep(_ account: AccountID, _ epochs: KillEpochs) async throws(StoreError) {
        do throws(StoreError) {
            try await self.clear(account, epochs)
        } catch {
            guard error.code != .unreachable else { throw error }
            if error.code == .unreadable { self.claims.forget(.account(account)) }
            self.logger.debug("a killed account is swept later", metadata: ["account.name": "\(account)"])
        }
    }

    private func clear(_ account: AccountID, _ epochs: KillEpochs) async throws(StoreError) {
        guard let entry = try await self.accounts.read(account), epochs.killer(of: entry.record, account) != nil
        else { return self.claims.forget(.account(account)) }
        var record = entry.record
        // A flight that still runs brings tokens that are dead when they come; its claim is looked after until then.
        if let claim = record.claim, await self.mayBreak(claim, in: entry.version, at: .account(account)) {
            record.claim = nil
        }
        if record.tokens != nil {
            try await self.revocations.takeAway(record, of: account, epochs, at: self.timepiece.now.wall)
            record.rememberKilled()
            record.tokens = nil
            record.failureRecord = nil
        }
        if record != entry.record {
            _ = try await self.accounts.write(record, for: account, expecting: entry.version)
        }
        if record.claim == nil { self.claims.forget(.account(account)) }
    }
}

/// When each token's provider is asked again, by this process's own clock.
final class RevocationSchedule: Sendable {
    private struct State {
        var tries: [RecordKey: (tries: Int, since: BootInstant)] = [:]
        var orphans: Set<RecordKey> = []
    }

    private let state = Mutex(State())

    /// When a provider is to be asked again that was asked `tries` times: `pause` after the first sight of that.
    func due(_ key: RecordKey, tries: Int, pause: Duration, now: BootInstant) -> BootInstant {
        self.state.withLock { state in
            if let seen = state.tries[key], seen.tries == tries { return seen.since.advanced(by: pause) }
            state.tries[key] = (tries, now)
            return now.advanced(by: pause)
        }
    }

    /// The same where that was seen already; `nil` where it was not. Begins nothing.
    func knownDue(_ key: RecordKey, tries: Int, pause: Duration) -> BootInstant? {
        self.state.withLock { state in
            guard let seen = state.tries[key], seen.tries == tries else { return nil }
            return seen.since.advanced(by: pause)
        }
    }

    /// Whether it is seen for the first time that there is nobody to ask.
    func isNewOrphan(_ key: RecordKey) -> Bool {
        self.state.withLock { $0.orphans.insert(key).inserted }
    }

    /// There will be no more of it.
    func forget(_ key: RecordKey) {
        self.state.withLock { state in
            state.tries.removeValue(forKey: key)
            state.orphans.remove(key)
        }
    }
}
