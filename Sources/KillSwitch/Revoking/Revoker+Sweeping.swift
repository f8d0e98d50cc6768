internal import Logging
internal import TokenModel
internal import TokenStorage

/// Moves dead tokens out of the accounts' records.
extension Revoker {
    /// How many accounts are swept at once. A store commits writes that are in progress together in one group.
    private static let mostAtOnce = 128
    /// So many accounts that can't be swept are named. If there are more, all are looked through again.
    private static let mostLeft = 2_000

    /// Moves the tokens that `epochs` kills out of all accounts' records, a page of records at a time.
    ///
    /// - Parameter onPage: called after each page with dead tokens.
    /// - Returns: accounts to sweep again.
    /// - Throws: ``StoreError/Code/unreachable`` also at the end of the process: the next start sweeps all.
    func sweepAll(
        _ epochs: KillEpochs,
        onPage: () async -> Void
    ) async throws(StoreError) -> Set<AccountID> {
        var left: Set<AccountID> = []
        var after: AccountID?
        while true {
            let page = try await self.accounts.page(after: after)
            guard let last = page.last else { return left }
            after = last
            let dead = page.entries.filter { epochs.killer(of: $0.entry.record, $0.account) != nil }
            guard !dead.isEmpty else { continue }
            guard !Task.isCancelled else { throw StoreError(.unreachable, "the process stops") }
            try await dead.readEach(atOnce: Self.mostAtOnce) { one throws(StoreError) in
                try await self.sweep(one.account, epochs, knowing: one.entry)
            } found: { one, isDone in
                if !isDone, left.count < Self.mostLeft { left.insert(one.account) }
            }
            await onPage()
        }
    }

    /// Sweeps some accounts.
    ///
    /// - Returns: those to sweep again.
    func sweep(_ accounts: Set<AccountID>, _ epochs: KillEpochs) async throws(StoreError) -> Set<AccountID> {
        var left: Set<AccountID> = []
        try await accounts.readEach(atOnce: Self.mostAtOnce) { account throws(StoreError) in
            try await self.sweep(account, epochs)
        } found: { account, isDone in
            if !isDone { left.insert(account) }
        }
        return left
    }

    /// Sweeps one account. A record that does not open, or that another process is writing, does not keep the others
    /// from being swept.
    ///
    /// - Parameter known: the record as a listing has it; `nil`: it is read.
    /// - Returns: whether nothing is left to do.
    @discardableResult
    func sweep(
        _ account: AccountID,
        _ epochs: KillEpochs,
        knowing known: AccountVault.Entry? = nil
    ) async throws(StoreError) -> Bool {
        do throws(StoreError) {
            if let known {
                do throws(StoreError) {
                    try await self.clear(account, known, epochs)
                    return true
                } catch {
                    // Somebody has written since the listing.
                    guard error.code == .conflict else { throw error }
                }
            }
            try await self.clear(account, try await self.accounts.read(account), epochs)
            return true
        } catch {
            guard error.code != .unreachable else { throw error }
            if error.code == .unreadable { self.claims.forget(.account(account)) }
            self.logger.debug("a killed account is swept later", metadata: ["account.name": "\(account)"])
            return error.code == .unreadable
        }
    }

    private func clear(
        _ account: AccountID,
        _ entry: AccountVault.Entry?,
        _ epochs: KillEpochs
    ) async throws(StoreError) {
        guard let entry, let epoch = epochs.killer(of: entry.record, account) else {
            return self.claims.forget(.account(account))
        }
        var record = entry.record
        // A flight in progress brings tokens that are dead on arrival. Its claim is watched until then.
        if let claim = record.claim, await self.mayBreak(claim, in: entry.version, at: .account(account), by: epoch) {
            record.claim = nil
        }
        if record.tokens != nil {
            try await self.storeForRevocation(record, of: account, takenBy: epoch)
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
