internal import Audit
internal import TokenModel
internal import TokenRefresh

/// What operators do with accounts.
extension AdminController {
    func status(of account: AccountID) async throws(AdminError) -> AccountStatus {
        guard let status = await self.engine.status(of: account) else {
            throw AdminError.noSuchAccount.suggesting(await self.name(like: account))
        }
        return status
    }

    /// The configured account that was probably meant by a name that nobody knows; `nil` where the store does not say
    /// whether it does. Those that only the store knows are not looked for: a slip of the pen is not worth a listing of
    /// all records, and a kill must not wait for one.
    func name(like account: AccountID) async -> String? {
        if await self.engine.mayKnow(account) { return nil }
        return Suggestion.closest(to: account.rawValue, among: self.engine.configuredAccounts.map(\.rawValue))
    }

    /// The configured provider that was probably meant, likewise.
    func name(like provider: ProviderID) -> String? {
        Suggestion.closest(to: provider.rawValue, among: self.engine.providerStatuses.map(\.provider.rawValue))
    }

    /// - Returns: the account after it.
    func importTokens(
        _ tokens: TokenImport,
        for account: AccountID,
        by actor: AuditActor
    ) async throws(AdminError) -> AccountStatus {
        try self.checkForAdminTokens(in: tokens)
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

    /// What lets operators in must not go to a provider, nor take the place of tokens that work.
    private func checkForAdminTokens(in tokens: TokenImport) throws(AdminError) {
        let fields: [(name: String, token: Secret?)] = [
            ("refresh_token", tokens.refreshToken), ("access_token", tokens.accessToken),
        ]
        for field in fields {
            guard let token = field.token, self.door?.isOpened(by: token) == true else { continue }
            throw .adminToken(in: field.name)
        }
    }

    /// - Returns: the account after it, whatever came of it.
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

    /// Takes tokens over that were made for another provider, token endpoint or client.
    ///
    /// - Returns: the account after it.
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

    /// Those of its tokens that were taken away and are not revoked yet.
    func unrevoked(of account: AccountID) async throws(AdminError) -> [ForgottenToken] {
        do throws(AccountChangeError) {
            return try await self.engine.unrevoked(of: account)
        } catch {
            throw AdminError(error, account: account)
        }
    }

    /// - Returns: the account after it, and what the provider did with each of its tokens.
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

extension AccountStatus {
    /// What a refresh that an operator asked for has come to, as the audit log has it: `done`, `pending` where it goes on,
    /// or why not by the code that callers would be told.
    fileprivate var refreshOutcome: String {
        guard let code = self.refreshError else { return "done" }
        return self.isRefreshUnderWay ? "pending" : code.rawValue
    }
}
