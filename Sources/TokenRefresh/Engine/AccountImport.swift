package import TokenModel
internal import TokenStorage

/// The tokens of one account in a bulk import.
package struct AccountImport: Sendable {
    package let account: AccountID
    package let refreshToken: Secret
    /// `nil`: the first use refreshes.
    package let accessToken: Secret?
    /// How long the access token is valid from now on; `nil` for the account's default lifetime.
    package let expiresIn: Duration?
    /// The granted scopes, if known; only for display.
    package let scopes: [String]

    package init(
        _ account: AccountID,
        refreshToken: Secret,
        accessToken: Secret? = nil,
        expiresIn: Duration? = nil,
        scopes: [String] = []
    ) {
        self.account = account
        self.refreshToken = refreshToken
        self.accessToken = accessToken
        self.expiresIn = expiresIn
        self.scopes = scopes
    }
}

/// What a bulk import does with an account that has tokens already.
package enum ExistingAccounts: String, Sendable, CaseIterable {
    /// Leaves it as it is.
    case skip
    /// Replaces its tokens, unless this refresh token was imported for it before: that token's successor stands.
    case replace
    /// Refuses it.
    case fail
}

/// What came of one account in a bulk import.
package enum ImportOutcome: Equatable, Sendable {
    /// The account had no tokens, and has these now.
    case imported
    /// The account had other tokens, and has these now.
    case replaced
    /// The account exists, and was left as it is.
    case exists
    /// The refresh token was imported for this account before, and was left out: it may be spent.
    case importedBefore
    case refused(AccountChangeError)
}

extension AccountImport {
    /// The tokens to store, for an account of that configuration.
    func tokens(for plan: AccountConfiguration, at now: WallTime) -> TokenSet {
        let lifetime = min(max(self.expiresIn ?? plan.defaultLifetime, .zero), Freshness.longestLifetime)
        return TokenSet(
            accessToken: self.accessToken,
            refreshToken: self.refreshToken,
            receivedAt: now,
            lifetime: self.accessToken == nil ? .zero : lifetime,
            scopes: self.scopes
        )
    }
}

extension RefreshEngine {
    /// The most accounts of one call of ``importTokens(_:existing:)``.
    package static let largestImport = 256

    /// Imports tokens for up to ``largestImport`` accounts at once. The store commits them together, and the kill log is
    /// read twice, so that this costs little more than one import. The provider is not asked.
    ///
    /// An account that occurs twice gets the tokens of either.
    ///
    /// - Returns: what came of each, in the same order.
    package func importTokens(_ imports: [AccountImport], existing: ExistingAccounts) async -> [ImportOutcome] {
        let epochs: KillEpochs
        do throws(StoreError) { epochs = try await self.kills.read() } catch {
            return imports.map { .refused(AccountChangeError($0.account, error)) }
        }
        let stored = await withTaskGroup(of: (Int, Result<StoredTokens, AccountChangeError>).self) { writes in
            for (index, one) in imports.enumerated() {
                writes.addTask { (index, await self.store(one, existing: existing, by: epochs)) }
            }
            var stored = [Result<StoredTokens, AccountChangeError>?](repeating: nil, count: imports.count)
            for await (index, result) in writes { stored[index] = result }
            return stored
        }
        // A kill may have come between the read of the log and a write. The written tokens are dead then.
        let later = try? await self.kills.read()
        return zip(imports, stored).map { one, result in
            switch result {
            case .failure(let error)?: return .refused(error)
            case nil: return .refused(.notConfigured(one.account))
            case .success(let stored)?:
                guard let later, let record = stored.entry?.record else { return stored.outcome }
                guard let refusal = self.refusal(of: record, one.account, by: later) else { return stored.outcome }
                return .refused(refusal)
            }
        }
    }

    private func store(
        _ one: AccountImport,
        existing: ExistingAccounts,
        by epochs: KillEpochs
    ) async -> Result<StoredTokens, AccountChangeError> {
        let now = self.timepiece.now
        do throws(AccountChangeError) {
            try self.checkSecret(one.refreshToken, of: one.account)
            let stored = try await self.replaceTokens(
                of: one.account,
                under: .random(),
                receivedAt: now.boot,
                by: epochs,
                remembers: true,
                unless: { old in
                    switch existing {
                    case .skip: .exists
                    case .fail: .refused(.exists(one.account))
                    // The token may be spent, and its successor stands in the record.
                    case .replace: old.hasImported(one.refreshToken) ? .importedBefore : nil
                    }
                }
            ) { one.tokens(for: $0, at: now.wall) }
            // Entries of the log that are ordered at the same time become one.
            if stored.mayHaveHadTokens { await self.tell(of: one.account, grant: stored.grant) }
            return .success(stored)
        } catch {
            return .failure(error)
        }
    }
}

extension AccountChangeError {
    fileprivate static func exists(_ account: AccountID) -> AccountChangeError {
        AccountChangeError(.exists, "account \(account) has tokens already, which an import must not replace here")
    }
}
