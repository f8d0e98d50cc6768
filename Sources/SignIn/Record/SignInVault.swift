internal import TokenModel
internal import TokenStorage

/// The sign-ins of one store.
struct SignInVault: Sendable {
    typealias Entry = StoredEntry<SignInRecord>

    private let vault: RecordVault<SignInRecord>

    init(_ records: SealedRecords) { self.vault = RecordVault(records) }

    func name(of account: AccountID) -> SignInName { SignInName(of: account, in: self.vault.records.storeID) }

    /// The last sign-in of an account; `nil` if there was none.
    func read(_ name: SignInName) async throws(StoreError) -> Entry? { try await self.vault.read(name.key) }

    /// The sign-in with this id; `nil` if there is none, or if a later one has taken its place.
    func read(_ id: SignInID) async throws(StoreError) -> Entry? {
        guard let name = id.name, let entry = try await self.read(name), entry.record.terms.id == id else { return nil }
        return entry
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

    /// The same, and tries again for a while if the store is out of reach: what was written before need not be known.
    func write(
        _ record: SignInRecord,
        at name: SignInName,
        over entry: Entry?,
        until deadline: BootInstant,
        _ timepiece: Timepiece
    ) async throws(StoreError) -> Entry? {
        while true {
            do throws(StoreError) {
                return try await self.write(record, at: name, over: entry)
            } catch {
                guard error.code == .unreachable, timepiece.now.boot < deadline, !Task.isCancelled else { throw error }
                await timepiece.rest(until: timepiece.now.boot.advanced(by: .milliseconds(300)))
            }
        }
    }

    /// Writes how a sign-in ended, unless another one has taken its place or it has ended in another way.
    ///
    /// - Returns: what stands.
    func end(_ id: SignInID, _ end: SignInEnd) async throws(StoreError) -> Entry? {
        while let entry = try await self.read(id), let name = id.name {
            // Tokens that were stored after all count more than a failure.
            if case .ended(let earlier) = entry.record.phase, earlier.word != .failed || end.word != .done {
                return entry
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
