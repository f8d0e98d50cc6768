package import TokenModel
package import TokenStorage

/// The last approval of an account, sealed in the store, so that a yes given at one replica counts at all.
///
/// A kill ends it without finding it: the record says what its writer knew of the kill log, as records of tokens do
/// (``KillEpochs``).
package struct ApprovalRecord: Equatable, Sendable {
    /// When it ends, by the clock that all replicas go by.
    package let until: WallTime
    /// Who gave it, as `AuditActor/memo` has it.
    package let by: String?
    package let at: WallTime
    /// The end of the kill log as its writer knew it. A later kill ends the approval.
    package let observedEpoch: Epoch
    package let observedEntry: KillID?

    package init(until: WallTime, by: String?, at: WallTime, observedEpoch: Epoch, observedEntry: KillID?) {
        self.until = until
        self.by = by
        self.at = at
        self.observedEpoch = observedEpoch
        self.observedEntry = observedEntry
    }

    /// Until when it counts in this process, which reads it at `now`; `nil`: it is over.
    ///
    /// The end is on the clock that never jumps, and no later than the time that was approved, counted from now. A
    /// record from the future is over: the wall clock was set back since, so its end says nothing.
    func end(at now: Moment) -> BootInstant? {
        let left = now.wall.duration(to: self.until)
        guard left > .zero, self.at <= now.wall.advanced(by: Self.clockSkew) else { return nil }
        return now.boot.advanced(by: min(left, self.at.duration(to: self.until)))
    }

    /// How far another machine's wall clock may run ahead of ours.
    private static let clockSkew = Duration.seconds(5 * 60)
}

extension ApprovalRecord: SealableRecord {
    private static let format: UInt8 = 1

    package func encoded() -> Secret {
        let writer = FieldWriter(format: Self.format)
        writer.write(self.until.millisecondsSince1970)
        writer.write(self.by) { writer.write($0) }
        writer.write(self.at.millisecondsSince1970)
        writer.write(self.observedEpoch.rawValue)
        writer.write(self.observedEntry) { writer.write($0.rawValue) }
        return writer.finish()
    }

    package init(decoding bytes: Secret) throws(StoreError) {
        var reader = try FieldReader(bytes, formats: Self.format...Self.format)
        self.until = WallTime(millisecondsSince1970: try reader.read())
        self.by = try reader.readOptional { reader throws(StoreError) in try reader.read() }
        self.at = WallTime(millisecondsSince1970: try reader.read())
        self.observedEpoch = Epoch(rawValue: try reader.read())
        self.observedEntry = try reader.readOptional { reader throws(StoreError) in
            KillID(rawValue: try reader.read())
        }
        try reader.finish()
    }
}

/// The approvals of one store.
struct ApprovalVault: Sendable {
    private let vault: RecordVault<ApprovalRecord>

    init(_ records: SealedRecords) { self.vault = RecordVault(records) }

    var store: any TokenStore { self.vault.records.store }

    /// The last approval of each account that had one, and the accounts whose record does not open.
    func list() async throws(StoreError) -> (records: [AccountID: ApprovalRecord], unreadable: Set<AccountID>) {
        func account(_ key: RecordKey) -> AccountID {
            AccountID(String(key.rawValue.dropFirst(RecordKey.Prefix.approvals.rawValue.count)))
        }
        var records: [AccountID: ApprovalRecord] = [:]
        var unreadable: Set<AccountID> = []
        try await self.vault.forEach(under: .approvals, unreadable: { unreadable.insert(account($0)) }) { key, entry in
            records[account(key)] = entry.record
        }
        return (records, unreadable)
    }

    /// Stores an approval in place of any earlier one, even of one that does not open: nothing of it is needed.
    func store(_ record: ApprovalRecord, of account: AccountID) async throws(StoreError) {
        let key = RecordKey.approval(account.rawValue)
        for _ in 0..<Self.mostTries {
            let earlier = try await self.store.read(key)?.version
            do throws(StoreError) {
                _ = try await self.vault.write(record, at: key, expecting: earlier)
                return
            } catch {
                switch error.code {
                case .conflict: continue
                // The write may have been done and its response lost.
                case .unreachable where try await self.vault.read(key)?.record == record: return
                default: throw error
                }
            }
        }
        throw StoreError(.unreachable, "other writers came between each time")
    }

    private static let mostTries = 8
}
