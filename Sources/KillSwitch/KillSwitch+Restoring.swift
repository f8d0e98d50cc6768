package import Logging
internal import Synchronization
package import TokenModel
package import TokenStorage

/// Handles a store that has lost entries: by a failover that lost acknowledged writes, or by a restored backup.
extension KillSwitch {
    /// Reads the whole log, and compares it with this host's copy.
    ///
    /// - Parameter acceptsOlderStore: writes back what the store lacks, instead of refusing the store.
    /// - Throws: ``StoreError/Code/outdated`` where the store lacks entries and `acceptsOlderStore` is false.
    func readWholeLog(acceptsOlderStore: Bool) async throws(StoreError) -> KillLogContents {
        let (contents, missing) = try await Self.compare(self.log, with: self.host)
        guard !missing.isEmpty else { return contents }
        guard acceptsOlderStore else { throw Self.olderStore(missing, self.logger) }
        try await self.writeBack(missing, behind: contents.last)
        return try await self.log.contents()
    }

    /// Writes the snapshot of the log again, where a failover has lost pages of it.
    ///
    /// - Returns: whether it had.
    func restoreSnapshot() async throws(StoreError) -> Bool {
        guard try await self.log.restoreSnapshot(knowing: self.known.contents) else { return false }
        self.logger.error("the store had lost a part of the kill log's snapshot, and has one again")
        return true
    }

    /// Refuses a store that lacks entries of this host's copy of its kill log. Call it before anything is written to
    /// the store, or taken from what an earlier process has left for it.
    ///
    /// - Throws: ``StoreError/Code/outdated`` where the store lacks entries.
    package static func expectWhole(
        _ records: SealedRecords,
        copy: any KillLogCopy,
        logger: Logger
    ) async throws(StoreError) {
        let missing = try await self.compare(KillLog(records), with: copy).missing
        if !missing.isEmpty { throw self.olderStore(missing, logger) }
    }

    private static func compare(
        _ log: KillLog,
        with copy: any KillLogCopy
    ) async throws(StoreError) -> (contents: KillLogContents, missing: [NumberedKillEntry]) {
        // The copy is read before the log, because other processes write an entry to the log before the copy.
        let copied = try await copy.entries()
        let contents = try await log.contents()
        let ids = Set(contents.numbered().map(\.entry.id.rawValue))
        var missing: [NumberedKillEntry] = []
        for kept in copied where !ids.contains(kept.id) {
            let entry = try KillEntry(decoding: kept.bytes)
            // An earlier version also copied entries of imports, which a snapshot leaves out.
            if entry.kind != .replaced { missing.append(NumberedKillEntry(epoch: Epoch(kept.number), entry: entry)) }
        }
        return (contents, missing)
    }

    private static func olderStore(_ missing: [NumberedKillEntry], _ logger: Logger) -> StoreError {
        let at = missing.last?.entry.at.rfc3339
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

    /// The entries of this host's copy that the store lacks. Ask before ``start(acceptsOlderStore:)`` writes them back.
    ///
    /// - Returns: how many entries, and the epoch of the last; `nil` where the store lacks none.
    package func missingInStore() async throws(StoreError) -> (count: Int, last: Epoch)? {
        let missing = try await Self.compare(self.log, with: self.host).missing
        return missing.last.map { (missing.count, $0.epoch) }
    }

    /// Writes back what the store lacks. Where others have written since the store was restored, an old revival is not
    /// written back as one: it might lift a kill of theirs. What it had lifted is killed again, and may be
    /// revived again. The same goes for the end of a lock.
    private func writeBack(_ missing: [NumberedKillEntry], behind end: Epoch) async throws(StoreError) {
        var last = end
        var isPlain = true
        for (epoch, entry) in missing.map({ ($0.epoch, $0.entry) }) {
            isPlain = isPlain && epoch > last
            // The numbers in between were imports, which the copy does not hold.
            while isPlain, last < epoch {
                let next = last.next
                isPlain = try await self.log.place(next == epoch ? entry : .filler(at: next), at: next) != .taken
                if isPlain { last = next }
            }
            // Another process has written to the store since it was restored.
            if !isPlain { last = try await self.log.append(entry.withoutLifting, behind: last) }
        }
        self.logger.notice(
            "the kill log in the store has what it lacked again",
            metadata: ["kill.missing": .stringConvertible(missing.count)]
        )
    }

    /// Brings this host's copy up to date. If the copy can't be written, kills go on all the same.
    func copyEntries() async {
        let (contents, copied) = self.state.withLock { ($0.machine.log.contents, $0.copied) }
        guard copied < contents.last else { return }
        do throws(StoreError) {
            // Entries of imports kill nothing. The copy leaves them out, so that it does not grow with them.
            try await self.host.add(
                contents.numbered(behind: copied).filter { $0.entry.kind != .replaced }.map { numbered in
                    KillLogFileEntry(
                        number: numbered.epoch.rawValue,
                        id: numbered.entry.id.rawValue,
                        bytes: numbered.entry.encoded()
                    )
                }
            )
            self.state.withLock { state in
                state.copied = contents.last
                state.hasMissedCopy = false
            }
        } catch {
            let isNew = self.state.withLock { state in
                defer { state.hasMissedCopy = true }
                return !state.hasMissedCopy
            }
            guard isNew else { return }
            self.logger.error(
                "the kill log could not be copied to state_dir: if the store were restored from a backup now, lost kills could not be detected",
                metadata: ["error.reason": "\(error.message)"]
            )
        }
    }
}

extension KillEntry {
    /// Instead of a revival or the end of a lock, an entry with the same ID that changes nothing.
    fileprivate var withoutLifting: KillEntry {
        guard self.kind == .revive || self.kind == .unlocked else { return self }
        return KillEntry(.replaced, self.scope, id: self.id, reason: self.reason, at: self.at)
    }
}
