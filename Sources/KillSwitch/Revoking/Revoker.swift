internal import Logging
internal import OAuth
package import ProviderClient
internal import TokenModel
package import TokenStorage

/// Takes killed tokens out of the accounts' records, and has their providers revoke them (RFC 7009).
///
/// A token is first written down as one to be revoked, then taken out of its account's record: it is never lost in
/// between, and never used again. Every replica does this; whoever comes second finds it done.
package struct Revoker: Sendable {
    /// Where tokens made for somebody are revoked.
    package typealias Endpoints = @Sendable (AccountRecord.Binding) -> (any TokenEndpoint)?

    let revocations: RevocationVault
    let accounts: AccountVault
    let timepiece: Timepiece
    let logger: Logger
    let endpoint: Endpoints
    let sightings = ClaimSightings()

    init(_ records: SealedRecords, timepiece: Timepiece, logger: Logger, endpoint: @escaping Endpoints) {
        self.revocations = RevocationVault(records)
        self.accounts = AccountVault(records)
        self.timepiece = timepiece
        self.logger = logger
        self.endpoint = endpoint
    }

    /// Moves what is dead by `epochs` out of the accounts' records.
    func sweep(_ epochs: KillEpochs) async throws(StoreError) {
        for account in try await self.accounts.accounts() {
            do throws(StoreError) {
                try await self.sweep(account, epochs)
            } catch {
                // One that does not open, or that another writes just now, must not keep the rest from being swept.
                guard error.code != .unreachable else { throw error }
                self.logger.debug("a killed account is swept later", metadata: ["account.name": "\(account)"])
            }
        }
    }

    private func sweep(_ account: AccountID, _ epochs: KillEpochs) async throws(StoreError) {
        guard let entry = try await self.accounts.read(account),
            epochs.killer(of: entry.record.stamp, of: account, at: entry.record.binding.provider) != nil
        else { return }
        var record = entry.record
        // A flight that still runs brings tokens that are dead when they come; its claim is looked after until then.
        if let claim = record.claim, self.sightings.isOver(claim, of: account, now: self.timepiece.now.boot) {
            record.claim = nil
        }
        if record.tokens != nil {
            try await self.takeAway(entry.record, of: account, epochs)
            record.rememberKilled()
            record.tokens = nil
            record.trouble = nil
        }
        guard record != entry.record else { return }
        _ = try await self.accounts.write(record, for: account, expecting: entry.version)
    }

    /// Writes the tokens of a record down to be revoked, if they are dead.
    func takeAway(_ record: AccountRecord, of account: AccountID, _ epochs: KillEpochs) async throws(StoreError) {
        guard let tokens = record.tokens,
            let epoch = epochs.killer(of: record.stamp, of: account, at: record.binding.provider)
        else { return }
        for token in self.revocations(of: tokens, in: record, account, epoch) {
            try await self.revocations.writeDown(token, of: record)
        }
    }

    func revocations(
        of tokens: TokenSet,
        in record: AccountRecord,
        _ account: AccountID,
        _ epoch: Epoch
    ) -> [RevocationRecord] {
        let now = self.timepiece.now.wall
        func revocation(_ token: Secret, _ kind: RevocableToken, endsAt: WallTime?) -> RevocationRecord {
            RevocationRecord(
                epoch: epoch,
                account: account,
                binding: record.binding,
                kind: kind,
                token: token,
                endsAt: endsAt,
                takenAt: now,
                outcome: .waiting,
                tries: 0
            )
        }
        var revocations: [RevocationRecord] = []
        if let token = tokens.refreshToken {
            let endsAt = tokens.refreshLifetime.map { tokens.receivedAt.advanced(by: $0) }
            revocations.append(revocation(token, .refreshToken, endsAt: endsAt))
        }
        if let token = tokens.accessToken {
            revocations.append(revocation(token, .accessToken, endsAt: tokens.expiresAt))
        }
        return revocations
    }
}
