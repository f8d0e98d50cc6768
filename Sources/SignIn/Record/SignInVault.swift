internal import TokenModel
internal import TokenStorage

/// The sign-ins of one store.
struct SignInVault: Sendable {
    typealias Entry = StoredEntry<SignInRecord>

    private let vault: RecordVault<SignInRecord>

    init(_ records: SealedRecords) { self.vault = RecordVault(records) }

    var storeID: StoreID { self.vault.records.storeID }

    func name(of account: AccountID) -> SignInName { SignInName(of: account, in: self.vault.records.storeID) }

    /// The last sign-in of an account; `nil` if there was none.
    func read(_ name: SignInName) async throws(StoreError) -> Entry? { try await self.vault.read(name.key) }

    /// The sign-in with this id; `nil` if there is none, or if a later one has taken its place.
    func read(_ id: SignInID) async throws(StoreError) -> Entry? {
        guard let name = id.name, let entry = try await self.read(name), entry.record.terms.id == id else { return nil }
        return entry
    }

    /// The sign-ins that wait for somebody to enter a code.
    func devices() async throws(StoreError) -> [SignInID] {
        var ids: [SignInID] = []
        try await self.vault.forEach(under: .signIns) { _, entry in
            if case .device = entry.record.phase { ids.append(entry.record.terms.id) }
        }
        return ids
    }

    /// Replaces what was read.
    ///
    /// - Returns: the new entry; `nil` if another process has written meanwhile.
    func write(
        _ record: SignInRecord,
        at name: SignInName,
        over entry: Entry?
    ) async throws(StoreError) -> Entry? {
        do throws(StoreError) {
            let version = try await self.vault.write(record, at: name.key, expecting: entry?.version)
            return Entry(record: record, version: version)
        } catch {
            guard error.code == .conflict || error.code == .unreachable else { throw error }
            // The write, or an earlier one of the same record, may have been done and its response lost. A record names the
            // attempt that wrote it, but for one that only moves a question on.
            if !record.movesQuestion || error.code == .unreachable, let found = try await self.read(name),
                found.record == record
            {
                return found
            }
            guard error.code == .conflict else { throw error }
            return nil
        }
    }

    /// Writes how a sign-in ended, unless another one has taken its place or it has ended in another way.
    ///
    /// - Parameters:
    ///   - claim: that of the exchange which has ended; `nil` if there was none.
    ///   - now: a failure leaves another process's exchange alone as long as that may succeed.
    /// - Returns: what stands.
    func end(
        _ id: SignInID,
        _ end: SignInEnd,
        by claim: ClaimID?,
        at now: WallTime
    ) async throws(StoreError) -> Entry? {
        while let entry = try await self.read(id), let name = id.name {
            switch entry.record.phase {
            // Tokens that were stored after all count more than a failure.
            case .ended(let earlier) where earlier.word != .failed || end.word != .done: return entry
            case .redeeming(let other, let until) where other != claim && end.word != .done && now < until: return entry
            case .unopened, .asked, .device, .redeeming, .ended: break
            }
            var record = entry.record
            record.phase = .ended(end)
            if let written = try await self.write(record, at: name, over: entry) { return written }
        }
        return nil
    }
}

extension SignInRecord {
    fileprivate var movesQuestion: Bool {
        if case .device = self.phase { true } else { false }
    }
}
