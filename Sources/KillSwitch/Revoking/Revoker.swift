internal import Logging
internal import OAuth
package import ProviderClient
internal import Synchronization
internal import TokenModel
package import TokenStorage

/// Takes killed tokens out of the accounts' records, and has their providers revoke them (RFC 7009).
///
/// A token is first written down as one to be revoked, then taken out of its account's record: it is never lost in
/// between, and never used again. Every replica does this; whoever comes second finds it done.
package struct Revoker: Sendable {
    /// Where tokens made for somebody are revoked.
    package typealias Endpoints = @Sendable (AccountRecord.Binding) -> (any TokenEndpoint)?

    private let records: SealedRecords
    private let vault: AccountVault
    private let timepiece: Timepiece
    private let logger: Logger
    private let endpoint: Endpoints
    private let claims = ClaimSightings()

    /// A provider that can't be reached is asked again after twice the time it was last.
    private static let firstPause = Duration.seconds(1)
    private static let longestPause = Duration.seconds(60)
    /// A token that could not be revoked is forgotten after this: it is kept for nothing else.
    static let keptFor = Duration.seconds(24 * 3_600)

    init(_ records: SealedRecords, timepiece: Timepiece, logger: Logger, endpoint: @escaping Endpoints) {
        self.records = records
        self.vault = AccountVault(records)
        self.timepiece = timepiece
        self.logger = logger
        self.endpoint = endpoint
    }

    /// Moves what is dead by `epochs` out of the accounts' records.
    func sweep(_ epochs: KillEpochs) async throws(StoreError) {
        for account in try await self.vault.accounts() {
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
        guard let entry = try await self.vault.read(account),
            epochs.killer(of: entry.record.stamp, of: account, at: entry.record.binding.provider) != nil
        else { return }
        var record = entry.record
        // A flight that still runs brings tokens that are dead when they come; its claim is looked after until then.
        if let claim = record.claim, self.claims.isOver(claim, of: account, now: self.timepiece.now.boot) {
            record.claim = nil
        }
        if record.tokens != nil {
            try await self.takeAway(entry.record, of: account, epochs)
            record.rememberKilled()
            record.tokens = nil
            record.trouble = nil
        }
        guard record != entry.record else { return }
        _ = try await self.vault.write(record, for: account, expecting: entry.version)
    }

    /// Writes the tokens of a record down to be revoked, if they are dead.
    func takeAway(_ record: AccountRecord, of account: AccountID, _ epochs: KillEpochs) async throws(StoreError) {
        guard let tokens = record.tokens,
            let epoch = epochs.killer(of: record.stamp, of: account, at: record.binding.provider)
        else { return }
        for token in self.revocations(of: tokens, in: record, account, epoch) {
            try await self.writeDown(token, of: record)
        }
    }

    private func revocations(
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

    /// Under a name that the same token has whoever finds it.
    private func writeDown(_ revocation: RevocationRecord, of record: AccountRecord) async throws(StoreError) {
        let id = "\(record.grant)-\(record.generation)-\(revocation.kind.rawValue)"
        do throws(StoreError) {
            _ = try await self.records.write(revocation.encoded(), at: .revocation(id), expecting: nil)
        } catch {
            guard error.code == .conflict else { throw error }
        }
    }
}

// MARK: - Revoking

extension Revoker {
    /// Has the providers revoke all that wait for it and are due.
    ///
    /// - Returns: when to do so again; `nil` where nothing waits.
    func revokeDue() async throws(StoreError) -> BootInstant? {
        var keys = try await self.keys().makeIterator()
        // A provider that hangs must not hold up the others, nor the end of the process for long.
        return await withTaskGroup(of: BootInstant?.self) { tasks in
            for _ in 0..<Self.mostAtOnce {
                guard let key = keys.next() else { break }
                tasks.addTask { await self.revokeIfOpen(key) }
            }
            var next: BootInstant?
            for await due in tasks {
                if let due { next = min(next ?? due, due) }
                if !Task.isCancelled, let key = keys.next() { tasks.addTask { await self.revokeIfOpen(key) } }
            }
            return next
        }
    }

    private static let mostAtOnce = 8

    /// One that does not open, or can't be written just now, must not keep the rest from being revoked.
    private func revokeIfOpen(_ key: RecordKey) async -> BootInstant? {
        do throws(StoreError) {
            return try await self.revoke(key)
        } catch {
            self.logger.warning(
                "a killed token could not be revoked now",
                metadata: ["record.key": "\(key)", "error.code": "\(error.code.rawValue)"]
            )
            return error.code == .unreadable ? nil : self.timepiece.now.boot.advanced(by: .seconds(5))
        }
    }

    /// - Returns: when the provider is to be asked again; `nil` when it never is.
    private func revoke(_ key: RecordKey) async throws(StoreError) -> BootInstant? {
        guard let stored = try await self.records.read(key) else { return nil }
        var record = try RevocationRecord(decoding: stored.plaintext)
        guard record.outcome.isOpen, let token = record.token else { return nil }
        let now = self.timepiece.now
        if record.takenAt.duration(to: now.wall) > Self.keptFor {
            record.token = nil
            record.outcome = .unreachable
            return try await self.write(record, at: key, expecting: stored.version) == nil ? now.boot : nil
        }
        let due = self.claims.due(key, tries: record.tries, pause: Self.pause(after: record.tries), now: now.boot)
        guard now.boot >= due else { return due }
        // Whoever writes this asks the provider; the others wait for twice as long.
        record.tries += 1
        guard let version = try await self.write(record, at: key, expecting: stored.version) else { return due }
        let verdict =
            if let endpoint = self.endpoint(record.binding) {
                await endpoint.revoke(token, kind: record.kind)
            } else {
                RevocationVerdict.unreachable(.noKnownReason)
            }
        record.outcome = RevocationRecord.Outcome(verdict)
        if !record.outcome.isOpen { record.token = nil }
        self.logger.info(
            "a killed token was taken to its provider",
            metadata: [
                "account.name": "\(record.account)", "token.kind": "\(record.kind.rawValue)",
                "revocation.outcome": "\(record.outcome.rawValue)",
            ]
        )
        _ = try await self.write(record, at: key, expecting: version)
        return record.outcome.isOpen ? now.boot.advanced(by: Self.pause(after: record.tries)) : nil
    }

    private static func pause(after tries: Int) -> Duration {
        tries == 0 ? .zero : min(Self.firstPause * (1 << min(tries - 1, 6)), Self.longestPause)
    }

    /// - Returns: `nil` where another has written meanwhile.
    private func write(
        _ record: RevocationRecord,
        at key: RecordKey,
        expecting: Version
    ) async throws(StoreError) -> Version? {
        do throws(StoreError) {
            return try await self.records.write(record.encoded(), at: key, expecting: expecting)
        } catch {
            guard error.code == .conflict else { throw error }
            return nil
        }
    }

    private func keys() async throws(StoreError) -> [RecordKey] {
        var keys: [RecordKey] = []
        var last: RecordKey?
        repeat {
            let page = try await self.records.store.keys(under: .revocations, after: last, limit: 500)
            keys += page
            last = page.last
        } while last != nil
        return keys
    }
}

// MARK: - Reporting

extension Revoker {
    /// What became of the tokens that the kill numbered `epoch` took away.
    func tokens(of epoch: Epoch, _ epochs: KillEpochs) async throws(StoreError) -> KillReport.Tokens {
        var tokens = KillReport.Tokens()
        for record in try await self.revocations(of: epoch) {
            switch record.outcome {
            case .waiting: tokens.waiting += 1
            case .revoked: tokens.revoked += 1
            case .refused: tokens.refused += 1
            case .unsupported: tokens.unsupported += 1
            case .unreachable: tokens.unreachable += 1
            }
        }
        for account in try await self.vault.accounts() {
            guard let record = try? await self.vault.read(account)?.record,
                epochs.killer(of: record.stamp, of: account, at: record.binding.provider) == epoch
            else { continue }
            if record.claim != nil { tokens.inFlight += 1 }
            if record.tokens?.refreshToken != nil { tokens.waiting += 1 }
            if record.tokens?.accessToken != nil { tokens.waiting += 1 }
        }
        return tokens
    }

    /// The tokens that the kill numbered `epoch` took away, by account.
    func revocations(of epoch: Epoch) async throws(StoreError) -> [RevocationRecord] {
        var records: [RevocationRecord] = []
        for key in try await self.keys() {
            do throws(StoreError) {
                guard let stored = try await self.records.read(key) else { continue }
                let record = try RevocationRecord(decoding: stored.plaintext)
                if record.epoch == epoch { records.append(record) }
            } catch {
                // A report that leaves out one that does not open is worth more than none.
                guard error.code == .unreadable else { throw error }
            }
        }
        return records.sorted { ($0.account, $0.kind.rawValue) < ($1.account, $1.kind.rawValue) }
    }
}
