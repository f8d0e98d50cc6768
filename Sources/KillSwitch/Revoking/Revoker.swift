internal import Logging
internal import OAuth
package import ProviderClient
internal import Synchronization
internal import TokenModel
package import TokenStorage

/// Takes killed tokens out of the accounts' records, and has their providers revoke them (RFC 7009).
///
/// A token is first stored for revocation, then taken out of its account's record. So it is neither lost in between nor
/// used again. Every replica does this; a later one finds it done. One replica asks the provider, and its claim is in
/// the token's record meanwhile.
package struct Revoker: Sendable {
    /// Returns the endpoint where tokens with a given binding are revoked.
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

    /// Moves the tokens that `epochs` kills out of the accounts' records.
    func sweep(_ epochs: KillEpochs) async throws(StoreError) {
        var dead: [AccountID] = []
        try await self.accounts.forEach { account, entry in
            if epochs.killer(of: entry.record, account) != nil { dead.append(account) }
        }
        for account in dead {
            // The rest is swept at the next start: thousands of accounts must not delay the end of the process.
            guard !Task.isCancelled else { return }
            try await self.sweep(account, epochs)
        }
    }

    /// Sweeps one account. A record that does not open, or that another process is writing, does not keep the others
    /// from being swept.
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
        // A flight in progress brings tokens that are dead on arrival. Its claim is watched until then.
        if let claim = record.claim, await self.mayBreak(claim, in: entry.version, at: .account(account)) {
            record.claim = nil
        }
        if record.tokens != nil {
            try await self.revocations.storeForRevocation(record, of: account, epochs, at: self.timepiece.now.wall)
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

    /// When to ask a provider again that was asked `tries` times: `pause` after this count was first seen.
    func due(_ key: RecordKey, tries: Int, pause: Duration, now: BootInstant) -> BootInstant {
        self.state.withLock { state in
            if let seen = state.tries[key], seen.tries == tries { return seen.since.advanced(by: pause) }
            state.tries[key] = (tries, now)
            return now.advanced(by: pause)
        }
    }

    /// The same for a count that was seen before; `nil` for any other. Starts no pause.
    func knownDue(_ key: RecordKey, tries: Int, pause: Duration) -> BootInstant? {
        self.state.withLock { state in
            guard let seen = state.tries[key], seen.tries == tries else { return nil }
            return seen.since.advanced(by: pause)
        }
    }

    /// Whether this is the first time that there is no endpoint to ask.
    func isNewOrphan(_ key: RecordKey) -> Bool {
        self.state.withLock { $0.orphans.insert(key).inserted }
    }

    /// The token is settled.
    func forget(_ key: RecordKey) {
        self.state.withLock { state in
            state.tries.removeValue(forKey: key)
            state.orphans.remove(key)
        }
    }
}
