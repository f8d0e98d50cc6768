internal import Synchronization
internal import TokenModel
internal import TokenStorage

/// The tallies of all kills (``KillTally``): those in the store, and what this process has yet to add to them.
final class TallyBook: Sendable {
    private struct State {
        var changes: [Epoch: KillTally] = [:]
        /// The tallies in the store with tokens left to revoke, as this process saw them last.
        var stored: [Epoch: KillTally] = [:]
        /// The tallies that are final as far as this process knows.
        var final: Set<Epoch> = []
        var writtenAt = BootInstant.distantPast
    }

    private let vault: RecordVault<KillTally>
    private let state = Mutex(State())
    /// A tally that is read between a write and the end of its changes here would count them twice.
    private let writes = SerialQueue()
    private static let interval = Duration.seconds(1)

    init(_ records: SealedRecords) { self.vault = RecordVault(records) }

    /// Notes that a token was found, has another outcome, or is settled.
    func note(_ old: RevocationRecord?, _ new: RevocationRecord) {
        // No kill took away what was dropped.
        guard new.epoch != .start else { return }
        self.state.withLock { state in
            if let old {
                state.changes[new.epoch, default: KillTally()].add(-1, .init(old), at: old.binding.provider)
            }
            state.changes[new.epoch, default: KillTally()].add(1, .init(new), at: new.binding.provider)
            state.final.remove(new.epoch)
        }
    }

    /// Notes that all accounts were looked through since the kill.
    func noteCollected(_ epoch: Epoch) {
        self.state.withLock { $0.changes[epoch, default: KillTally()].isCollected = true }
    }

    /// Adds all changes to the tallies in the store. What it does not take now is added next time.
    ///
    /// - Parameter isKill: removals have no report, and no tally.
    func write(now: BootInstant, _ isKill: (Epoch) -> Bool) async {
        await self.writes.run {
            let changes = self.state.withLock { state in
                defer { state.changes = [:] }
                state.writtenAt = now
                return state.changes
            }
            for (epoch, change) in changes where isKill(epoch) {
                do throws(StoreError) {
                    try await self.add(change, to: epoch)
                } catch {
                    // A tally that does not open is not written over.
                    guard error.code != .unreadable else { continue }
                    self.state.withLock { $0.changes[epoch, default: KillTally()].add(change) }
                }
            }
        }
    }

    /// The same, if the last time is a second ago.
    func writeNowAndThen(now: BootInstant, _ isKill: (Epoch) -> Bool) async {
        let isDue = self.state.withLock { state in
            guard state.writtenAt.duration(to: now) >= Self.interval else { return false }
            state.writtenAt = now
            return true
        }
        if isDue { await self.write(now: now, isKill) }
    }

    private func add(_ change: KillTally, to epoch: Epoch) async throws(StoreError) {
        while true {
            let entry = try await self.vault.read(.killTally(epoch.rawValue))
            var tally = entry?.record ?? KillTally()
            tally.add(change)
            guard tally != entry?.record else { return self.saw(tally, of: epoch) }
            do throws(StoreError) {
                _ = try await self.vault.write(tally, at: .killTally(epoch.rawValue), expecting: entry?.version)
                return self.saw(tally, of: epoch)
            } catch {
                guard error.code == .conflict else { throw error }
            }
        }
    }

    /// The tally of a kill, with what this process has yet to add; `nil` if it does not open.
    func tally(of epoch: Epoch) async throws(StoreError) -> KillTally? {
        let result = await self.writes.run {
            await KillSwitch.result { () async throws(StoreError) in
                let stored = try await self.vault.read(.killTally(epoch.rawValue))?.record ?? KillTally()
                self.saw(stored, of: epoch)
                return self.state.withLock { state in
                    var tally = stored
                    if let changes = state.changes[epoch] { tally.add(changes) }
                    // Another process may have added to it, and have ended since.
                    if !tally.isFinal { state.final.remove(epoch) }
                    return tally
                }
            }
        }
        do throws(StoreError) {
            return try result.get()
        } catch {
            guard error.code == .unreadable else { throw error }
            return nil
        }
    }

    private func saw(_ tally: KillTally, of epoch: Epoch) {
        self.state.withLock { $0.stored[epoch] = tally.open.isEmpty ? nil : tally }
    }

    /// How many tokens of all kills that a provider is yet to revoke, as far as this process knows.
    func open(at provider: ProviderID) -> Int {
        self.state.withLock { state in
            state.stored.merging(state.changes) { stored, changes in
                var tally = stored
                tally.add(changes)
                return tally
            }
            .values.reduce(0) { $0 + ($1.open[provider] ?? 0) }
        }
    }

    /// Whether this process knows nothing to do for the tally.
    func isFinal(_ epoch: Epoch) -> Bool { self.state.withLock { $0.final.contains(epoch) } }

    /// Makes the tally of a kill final that has no token left to revoke. It must have been collected before.
    ///
    /// Every process writes its changes after it has made them. So a token that `count` misses changes the version that
    /// this write expects, or makes the tally open again.
    ///
    /// - Parameters:
    ///   - isWorkedOff: whether no token is left at these providers.
    ///   - count: counts the settled tokens.
    func finish(
        _ epoch: Epoch,
        isWorkedOff: (Set<ProviderID>) -> Bool,
        count: () async throws(StoreError) -> KillTally
    ) async throws(StoreError) {
        do throws(StoreError) {
            guard let entry = try await self.vault.read(.killTally(epoch.rawValue)) else { return }
            if !entry.record.isFinal {
                let isWritten = self.state.withLock { $0.changes[epoch] == nil }
                guard isWritten, entry.record.isCollected, isWorkedOff(Set(entry.record.counts.keys)) else { return }
                var tally = try await count()
                tally.isCollected = true
                tally.isFinal = true
                _ = try await self.vault.write(tally, at: .killTally(epoch.rawValue), expecting: entry.version)
            }
        } catch {
            guard error.code == .conflict || error.code == .unreadable else { throw error }
            if error.code == .conflict { return }
        }
        self.state.withLock { state in
            state.stored[epoch] = nil
            if state.changes[epoch] == nil { state.final.insert(epoch) }
        }
    }
}
