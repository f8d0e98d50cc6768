internal import Audit
internal import TokenModel
internal import TokenRefresh

/// The operations on accounts.
extension OpenGateway {
    func status(of account: AccountID) async throws(AdminError) -> AccountStatus {
        guard let status = await self.engine.status(of: account) else {
            throw AdminError.noSuchAccount.suggesting(await self.name(like: account))
        }
        return status
    }

    /// The configured account that was probably meant by an unknown name; `nil` if the name is known, or if the store
    /// can't tell.
    ///
    /// Accounts that only the store knows are not considered: a typing error is not worth a listing of all records,
    /// and a kill must not wait for one.
    func name(like account: AccountID) async -> String? {
        if await self.engine.mayKnow(account) { return nil }
        return Suggestion.closest(to: account.rawValue, among: self.engine.configuredAccounts.map(\.rawValue))
    }

    /// The configured provider that was probably meant by an unknown name.
    func name(like provider: ProviderID) -> String? {
        Suggestion.closest(to: provider.rawValue, among: self.engine.providerStatuses.map(\.provider.rawValue))
    }

    /// - Returns: the account after the import.
    func importTokens(
        _ tokens: TokenImport,
        for account: AccountID,
        by actor: AuditActor
    ) async throws(AdminError) -> AccountStatus {
        try await self.audited(.importTokens, account, by: actor) { () async throws(AdminError) in
            do throws(AccountChangeError) {
                try await self.engine.importTokens(
                    tokens.refreshToken,
                    accessToken: tokens.accessToken,
                    expiresIn: tokens.expiresIn,
                    scopes: tokens.scopes,
                    for: account
                )
            } catch {
                throw AdminError(error, account: account)
            }
        }
        return try await self.status(of: account)
    }

    /// - Returns: the account after the refresh, whatever its outcome.
    func refresh(_ account: AccountID, by actor: AuditActor) async throws(AdminError) -> AccountStatus {
        try await self.audited(.refresh, account, by: actor) { () async throws(AdminError) in
            guard let status = await self.engine.refreshNow(account) else { throw .notConfigured }
            return status
        } outcome: { status in
            status.refreshOutcome
        } detail: { status in
            status.lastError.map { "\(status.state.rawValue), \($0)" } ?? status.state.rawValue
        }
    }

    /// Takes over tokens that were issued for another provider, token endpoint or client.
    ///
    /// - Returns: the account after the adoption.
    func adopt(_ account: AccountID, by actor: AuditActor) async throws(AdminError) -> AccountStatus {
        try await self.audited(.adopt, account, by: actor) { () async throws(AdminError) in
            do throws(AccountChangeError) {
                try await self.engine.adopt(account)
            } catch {
                throw AdminError(error, account: account)
            }
        }
        return try await self.status(of: account)
    }

    /// The account's tokens that were taken away and are not revoked yet.
    func unrevoked(of account: AccountID) async throws(AdminError) -> [ForgottenToken] {
        do throws(AccountChangeError) {
            return try await self.engine.unrevoked(of: account)
        } catch {
            throw AdminError(error, account: account)
        }
    }

    /// - Returns: the account after the removal, and what the provider did with each of its tokens.
    func forgetTokens(
        of account: AccountID,
        by actor: AuditActor
    ) async throws(AdminError) -> (status: AccountStatus, tokens: [ForgottenToken]) {
        let tokens = try await self.audited(.remove, account, by: actor) { () async throws(AdminError) in
            do throws(AccountChangeError) {
                return try await self.engine.forget(account)
            } catch {
                throw AdminError(error, account: account)
            }
        } detail: { tokens in
            tokens.isEmpty ? "no tokens" : ForgottenResponse.summary(of: tokens)
        }
        return (try await self.status(of: account), tokens)
    }
}

/// The operations on accounts that need an approval.
extension OpenGateway {
    func approvalStandings() -> [ApprovalStanding] { self.approvals?.standings() ?? [] }

    /// - Returns: the end of the approval.
    func approve(_ account: AccountID, by actor: AuditActor) async throws(AdminError) -> WallTime {
        try await self.audited(.approve, account, by: actor) { () async throws(AdminError) in
            guard let approvals = self.approvals else { throw .noApprovals }
            do throws(ApprovalRefusal) { return try await approvals.approve(account, by: actor.memo) } catch {
                throw AdminError(error, account: account)
            }
        } detail: {
            "until \($0.rfc3339)"
        }
    }
}

extension AccountStatus {
    /// The outcome of a refresh that an operator ordered, as the audit log has it: `done`, `pending` while the refresh
    /// continues, or the error code that callers would get.
    fileprivate var refreshOutcome: String {
        guard let code = self.refreshError else { return "done" }
        return self.isRefreshUnderWay ? "pending" : code.rawValue
    }
}
