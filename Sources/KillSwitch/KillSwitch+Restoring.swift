package import Logging
internal import Synchronization
package import TokenModel
package import TokenStorage

/// A store that holds less than it has held: a failover that lost acknowledged writes, a backup that was put back.
extension KillSwitch {
    /// Reads the whole log, and holds it against this host's copy.
    ///
    /// - Parameter acceptsOlderStore: what the store lacks is written back, instead of refused.
    /// - Throws: ``StoreError/Code/outdated`` where it lacks entries.
    func readWholeLog(acceptsOlderStore: Bool) async throws(StoreError) -> [KillEntry] {
        let (entries, missing) = try await Self.compare(self.log, with: self.copy)
        guard !missing.isEmpty else { return entries }
        guard acceptsOlderStore else { throw try Self.olderStore(missing, self.logger) }
        try await self.writeBack(missing, behind: entries)
        return try await self.log.entries(behind: .start)
    }

    /// Refuses a store that lacks what this host's copy of its kill log has: to be asked before anything is written to it, or
    /// taken from what an earlier process has left for it.
    ///
    /// - Throws: ``StoreError/Code/outdated`` where it lacks entries.
    package static func expectWhole(
        _ records: SealedRecords,
        copy: KeptLog,
        logger: Logger
    ) async throws(StoreError) {
        let missing = try await self.compare(KillLog(records), with: copy).missing
        if !missing.isEmpty { throw try self.olderStore(missing, logger) }
    }

    private static func compare(
        _ log: KillLog,
        with copy: KeptLog?
    ) async throws(StoreError) -> (entries: [KillEntry], missing: [KeptEntry]) {
        // Before the log: what another process writes meanwhile is in the log first.
        let copied = try await copy?.entries() ?? []
        let entries = try await log.entries(behind: .start)
        let ids = Set(entries.map(\.id.rawValue))
        return (entries, copied.filter { !ids.contains($0.id) })
    }

    private static func olderStore(_ missing: [KeptEntry], _ logger: Logger) throws(StoreError) -> StoreError {
        let at = try missing.last.map { kept throws(StoreError) in try KillEntry(decoding: kept.bytes).at.rfc3339 }
        logger.error(
            "the store lacks entries of the kill log: start with --accept-older-store to write them back",
            metadata: [
                "kill.missing": .stringConvertible(missing.count), "error.code": "\(StoreError.Code.outdated.rawValue)",
            ]
        )
        return StoreError(
            .outdated,
            "it lacks \(missing.count) entries of the kill log that this host's copy in state_dir has, the last of "
                + "\(at ?? "-"): it is older than it was, such as a backup, and what was killed since would live again; "
                + "martlet serve --accept-older-store writes them back, and what was killed stays dead"
        )
    }

    /// What the store lacks of what this host's copy has, to be told before ``start(acceptsOlderStore:)`` writes it back.
    ///
    /// - Returns: how many entries, and the epoch that the last of them had; `nil` where it lacks none.
    package func missingInStore() async throws(StoreError) -> (count: Int, last: Epoch)? {
        let missing = try await Self.compare(self.log, with: self.copy).missing
        return missing.last.map { (missing.count, Epoch($0.number)) }
    }

    /// Where others have written since the store was put back, no revival of before is written back as one: it might lift
    /// what it never knew. What it had lifted is killed again, and may be revived again.
    private func writeBack(_ missing: [KeptEntry], behind entries: [KillEntry]) async throws(StoreError) {
        let numbers = missing.indices.map { UInt64(entries.count + $0 + 1) }
        var isPlain = missing.map(\.number) == numbers
        var last = Epoch(UInt64(entries.count))
        for kept in missing {
            let entry = try KillEntry(decoding: kept.bytes)
            if isPlain {
                isPlain = try await self.log.place(entry, at: last.next) != .taken
                if isPlain { last = last.next }
            }
            // Somebody has written meanwhile, or before.
            if !isPlain { last = try await self.log.append(entry.withoutRevival, behind: last) }
        }
        self.logger.notice(
            "the kill log in the store has what it lacked again",
            metadata: ["kill.missing": .stringConvertible(missing.count)]
        )
    }

    /// Has this host's copy catch up. Where it can't be written a kill goes on all the same.
    func copyEntries() async {
        guard let copy = self.copy else { return }
        let (entries, copied) = self.state.withLock { ($0.machine.log.entries, $0.copied) }
        guard copied < entries.count else { return }
        do throws(StoreError) {
            try await copy.add(
                (copied..<entries.count).map { index in
                    KeptEntry(
                        number: UInt64(index + 1),
                        id: entries[index].id.rawValue,
                        bytes: entries[index].encoded()
                    )
                }
            )
            self.state.withLock { state in
                state.copied = entries.count
                state.hasMissedCopy = false
            }
        } catch {
            let isNew = self.state.withLock { state in
                defer { state.hasMissedCopy = true }
                return !state.hasMissedCopy
            }
            guard isNew else { return }
            self.logger.error(
                "the kill log could not be copied to state_dir: were the store put back now, nobody would notice",
                metadata: ["error.reason": "\(error.message)"]
            )
        }
    }
}

extension KillEntry {
    /// In place of a revival an entry of the same id that changes nothing.
    fileprivate var withoutRevival: KillEntry {
        guard self.kind == .revive else { return self }
        return KillEntry(.replaced, self.scope, id: self.id, reason: self.reason, at: self.at)
    }
}
