internal import OAuth
internal import TokenModel
internal import TokenStorage

/// What became of killed tokens.
extension Revoker {
    /// What became of the tokens that the kill of `scope` numbered `epoch` took away.
    func tokens(
        of epoch: Epoch,
        _ scope: KillScope,
        _ epochs: KillEpochs
    ) async throws(StoreError) -> KillReport.Tokens {
        var tokens = KillReport.Tokens()
        for record in try await self.revocations.all(of: epoch) {
            switch record.outcome {
            case .waiting: tokens.waiting += 1
            case .revoked: tokens.revoked += 1
            case .refused: tokens.refused += 1
            case .unsupported: tokens.unsupported += 1
            case .unreachable: tokens.unreachable += 1
            }
        }
        for account in try await self.accounts(in: scope) {
            guard let record = try? await self.accounts.read(account)?.record,
                epochs.killer(of: record.stamp, of: account, at: record.binding.provider) == epoch
            else { continue }
            if record.claim != nil { tokens.inFlight += 1 }
            if record.tokens?.refreshToken != nil { tokens.waiting += 1 }
            if record.tokens?.accessToken != nil { tokens.waiting += 1 }
        }
        return tokens
    }

    private func accounts(in scope: KillScope) async throws(StoreError) -> [AccountID] {
        switch scope {
        case .account(let account): [account]
        case .all, .provider: try await self.accounts.accounts()
        }
    }

    /// The tokens that the kill numbered `epoch` took away, by account.
    func revocations(of epoch: Epoch) async throws(StoreError) -> [RevocationRecord] {
        try await self.revocations.all(of: epoch)
            .sorted { ($0.account, $0.kind.rawValue) < ($1.account, $1.kind.rawValue) }
    }
}
