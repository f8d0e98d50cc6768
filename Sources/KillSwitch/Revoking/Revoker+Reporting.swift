package import OAuth
package import TokenModel
internal import TokenStorage

/// The outcomes for killed tokens.
extension Revoker {
    /// The outcomes for the tokens that the kill of `scope` numbered `epoch` took away.
    func tokens(
        of epoch: Epoch,
        _ scope: KillScope,
        _ epochs: KillEpochs
    ) async throws(StoreError) -> KillReport.Tokens {
        var tokens = KillReport.Tokens()
        tokens.isCounted = true
        // First come the tokens that are still in their account's record. Each is stored for revocation before it
        // leaves the account, and counts once.
        var left: Set<RecordKey> = []
        let now = self.timepiece.now.wall
        func count(_ account: AccountID, _ record: AccountRecord) {
            guard epochs.killer(of: record, account) == epoch else { return }
            if record.claim != nil { tokens.inFlight += 1 }
            let revocations = RevocationRecord.tokens(of: record, account, killedBy: epoch, at: now)
            left.formUnion(revocations.compactMap(self.revocations.key))
        }
        switch scope {
        case .account(let account):
            if let record = try await self.recordIfOpens(of: account) { count(account, record) }
        case .all, .provider:
            try await self.accounts.forEach { count($0, $1.record) }
        }
        let written = try await self.revocations.all(of: epoch)
        tokens.waiting = left.subtracting(written.keys).count
        for (key, record) in written {
            if let next = self.nextTry(record, at: key) {
                tokens.nextTryAt = min(tokens.nextTryAt ?? next, next)
            }
            switch record.outcome {
            case .waiting: tokens.waiting += 1
            case .revoked: tokens.revoked += 1
            case .refused: tokens.refused += 1
            case .clientRefused: tokens.clientRefused += 1
            case .unsupported: tokens.unsupported += 1
            case .unreachable:
                tokens.unreachable += 1
                // The record keeps the token for as long as its provider is asked.
                if record.token == nil { tokens.givenUp += 1 }
            }
        }
        return tokens
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

    /// The tokens that the kill numbered `epoch` took away, by account.
    func revocations(of epoch: Epoch) async throws(StoreError) -> [RevocationRecord] {
        try await self.revocations.all(of: epoch).values
            .sorted { ($0.account, $0.kind.rawValue) < ($1.account, $1.kind.rawValue) }
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
                reason: self.endpoint(record.binding) == nil ? .notConfigured : .waiting,
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
