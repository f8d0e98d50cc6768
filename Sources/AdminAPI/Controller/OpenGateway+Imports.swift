internal import Audit
internal import TokenModel
internal import TokenRefresh

/// Imports for many accounts at once.
extension OpenGateway {
    /// Imports the tokens of a batch, with one record before and one after for all of them.
    ///
    /// - Parameter imports: of known accounts. If an account is there twice, its second import sees what came of the
    ///   first.
    /// - Returns: what came of each, in the same order.
    /// - Throws: ``AdminError/Code/auditUnavailable`` if it can't be recorded, and so was not done.
    func importTokens(
        _ imports: [AccountImport],
        existing: ExistingAccounts,
        by actor: AuditActor
    ) async throws(AdminError) -> [ImportOutcome] {
        guard !imports.isEmpty else { return [] }
        let accounts = imports.map(\.account)
        return try await self.audited(
            .importTokens,
            of: accounts.count == 1 ? accounts.first.map(KillScope.account) : nil,
            saying: accounts.count == 1 ? nil : "\(accounts.count) accounts: \(accounts.map(\.rawValue).joined(separator: ", "))",
            by: actor
        ) { () async throws(AdminError) in
            var outcomes: [ImportOutcome] = []
            for part in Self.parts(of: imports) {
                outcomes += await self.engine.importTokens(part, existing: existing)
            }
            return outcomes
        } outcome: { outcomes in
            outcomes.allSatisfy { $0.word == .refused } ? "refused" : "done"
        } detail: { outcomes in
            var counts = ImportEndResponse()
            for outcome in outcomes { counts.count(outcome.word) }
            return counts.summary
        }
    }

    /// Splits the imports so that no part has an account twice.
    private static func parts(of imports: [AccountImport]) -> [[AccountImport]] {
        var parts: [[AccountImport]] = [[]]
        var seen: Set<AccountID> = []
        for one in imports {
            if !seen.insert(one.account).inserted {
                seen = [one.account]
                parts.append([])
            }
            parts[parts.count - 1].append(one)
        }
        return parts
    }
}
