package import Logging
internal import TokenModel
package import TokenStorage

/// Detects that a fresh store has replaced one whose kills it does not have.
extension KillSwitch {
    /// Refuses a store without a kill log if this host keeps the log of another store that has killed something. With
    /// `acceptsOlderStore`, that log becomes this store's, to be written back.
    ///
    /// - Throws: ``StoreError/Code/outdated`` where there is such a log and `acceptsOlderStore` is false.
    package static func expectNoOther(
        _ records: SealedRecords,
        copy: KillLogFile,
        acceptsOlderStore: Bool,
        logger: Logger
    ) async throws(StoreError) {
        guard try await KillLog(records).isEmpty(), try await copy.entries().isEmpty else { return }
        var last: (store: String, at: WallTime)?
        for (store, log) in try await copy.others() {
            guard let at = try await self.lastKill(in: log), last.map({ $0.at < at }) ?? true else { continue }
            last = (store, at)
        }
        guard let last else { return }
        guard acceptsOlderStore else {
            logger.error(
                "this store has no kill log, and state_dir has one of another store: start with --accept-older-store to go by it",
                metadata: ["store.other": "\(last.store)", "error.code": "\(StoreError.Code.outdated.rawValue)"]
            )
            throw StoreError(
                .outdated,
                "it is new, and state_dir keeps the kill log of the store \(last.store), with a kill of \(last.at.rfc3339) that would "
                    + "not hold any more: put that store back; or martlet serve --accept-older-store goes by that log here, and "
                    + "what was killed stays dead; or move state_dir/kill-log/\(last.store) away, if this store is for other tokens"
            )
        }
        try await copy.takeOver(last.store)
        logger.notice(
            "the kill log of another store is this one's from now on",
            metadata: ["store.other": "\(last.store)"]
        )
    }

    /// When a kept log, or a pending kill kept beside it, last killed something; `nil` for never.
    private static func lastKill(in log: KillLogFile) async throws(StoreError) -> WallTime? {
        var last: WallTime?
        let entries = try await log.entries().map { Result<Secret, StoreError>.success($0.bytes) }
        for bytes in entries + (try await log.pendingKills()) {
            let entry = try KillEntry(decoding: bytes.get())
            if !entry.killsNothing { last = max(last ?? entry.at, entry.at) }
        }
        return last
    }
}
