internal import Synchronization
package import TokenModel
package import TokenStorage

/// Entries about an account's tokens that are not kills: other tokens were imported, or the tokens were removed.
extension KillSwitch {
    /// Tells all replicas that an import has given the account other tokens.
    package func replaced(_ account: AccountID, by grant: GrantID) async throws(StoreError) {
        try await self.replaced([KillEntry.Replacement(account: account, grant: grant)])
    }

    /// Tells all replicas that imports have given accounts other tokens. Imports that come while an entry is being written
    /// share the next entry, as far as they fit into it.
    package func replaced(_ replacements: [KillEntry.Replacement]) async throws(StoreError) {
        let batches = self.state.withLock { $0.add(replacements) }
        for batch in batches { try await self.tell(batch) }
    }

    private func tell(_ batch: ImportBatch) async throws(StoreError) {
        let result = await self.imports.run {
            await batch.tellOnce { replacements in
                // Imports that come from now on go into the next entry.
                self.state.withLock { if $0.imports === batch { $0.imports = ImportBatch() } }
                let entry = KillEntry(.replaced, .all, replacements: replacements(), at: self.timepiece.now.wall)
                return await Self.result { () async throws(StoreError) in _ = try await self.append(entry) }
            }
        }
        try result.get()
    }

    /// How many imports the next entry will report.
    package var waitingImports: Int { self.state.withLock { $0.imports.count } }

    /// The last import into the account, as far as this process has read the log.
    package func lastImport(of account: AccountID) -> FencedLog.Import? { self.known.imports[account] }

    /// Kills an account's tokens; new ones may come.
    package func removed(_ account: AccountID) async throws(StoreError) {
        _ = try await self.append(KillEntry(.removed, .account(account), at: self.timepiece.now.wall))
    }

    /// Writes an entry, and fences this process against it.
    private func append(_ entry: KillEntry) async throws(StoreError) -> Epoch {
        let last = self.epochs.last
        var tries = 0
        while true {
            do throws(StoreError) {
                let epoch = try await self.log.append(entry, behind: last)
                // If the poll fails, the lapse of the lease stops this process.
                try? await self.poll()
                return epoch
            } catch {
                tries += 1
                guard error.code == .unreachable, tries < Self.mostTries else { throw error }
                await self.timepiece.rest(until: self.timepiece.now.boot.advanced(by: .milliseconds(200)))
            }
        }
    }
}

extension KillSwitch.State {
    /// Adds imports to the next entry, and to as many behind it as they need.
    ///
    /// - Returns: the entries that report them.
    fileprivate mutating func add(_ replacements: [KillEntry.Replacement]) -> [ImportBatch] {
        var batches: [ImportBatch] = []
        for replacement in replacements {
            if !self.imports.add(replacement) {
                self.imports = ImportBatch()
                _ = self.imports.add(replacement)
            }
            if batches.last !== self.imports { batches.append(self.imports) }
        }
        return batches
    }
}

/// The imports that one entry of the log reports, and the result of its write for each task that waits for it.
final class ImportBatch: Sendable {
    private typealias Told = Result<Void, StoreError>

    private let state = Mutex((replacements: [KillEntry.Replacement](), nameBytes: 0, told: Told?.none))

    /// In bytes. The record also holds up to 1,000 grants of 32 bytes, and lengths.
    private static let mostNameBytes = 16 << 10

    var count: Int { self.state.withLock { $0.replacements.count } }

    /// Adds an import, unless the entry has as many as an entry may have, or nearly fills a record.
    ///
    /// - Returns: whether it was added.
    func add(_ replacement: KillEntry.Replacement) -> Bool {
        self.state.withLock { state in
            guard state.replacements.count < KillEntry.mostReplacements, state.nameBytes < Self.mostNameBytes else {
                return false
            }
            state.replacements.append(replacement)
            state.nameBytes += replacement.account.rawValue.utf8.count
            return true
        }
    }

    /// Returns the result of `tell`, which is called once: later calls return the first result. For one task at a time.
    func tellOnce(
        _ tell: (@Sendable () -> [KillEntry.Replacement]) async -> Result<Void, StoreError>
    ) async -> Result<Void, StoreError> {
        if let told = self.state.withLock({ $0.told }) { return told }
        let told = await tell { self.state.withLock { $0.replacements } }
        self.state.withLock { $0.told = told }
        return told
    }
}
