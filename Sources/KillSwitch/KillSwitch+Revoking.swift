internal import Logging
internal import Synchronization
package import TokenModel
package import TokenStorage

/// Has killed tokens revoked at their providers.
extension KillSwitch {
    /// Has dead tokens revoked soon that were just stored.
    package func lookForKilledTokens(of account: AccountID) { self.sweep(.accounts([account])) }

    /// Has all accounts' records looked through for dead tokens.
    func sweepAll() { self.sweep(.all) }

    private func sweep(_ work: SweepDemand.Work) {
        self.state.withLock { $0.sweep.add(work) }
        self.sweepBell.ring()
    }

    /// Has the tokens of a record revoked if they are dead. Call it before the record is overwritten.
    package func storeForRevocation(tokensOf record: AccountRecord, _ account: AccountID) async throws(StoreError) {
        guard let epoch = self.epochs.killer(of: record, account) else { return }
        defer { self.revocationBell.ring() }
        try await self.revoker.storeForRevocation(record, of: account, takenBy: epoch)
    }

    /// Has tokens revoked that were issued for an account and never came into its record, whether they are dead or not.
    /// They count for the kill that covers them, if there is one, otherwise for no kill.
    package func storeForRevocation(dropped record: AccountRecord, _ account: AccountID) async throws(StoreError) {
        let epoch = self.epochs.killer(of: record, account) ?? .start
        defer { self.revocationBell.ring() }
        try await self.revoker.storeForRevocation(record, of: account, takenBy: epoch)
    }

    /// The same for tokens that never got into an account's record, where no kill switch runs yet: those of a journal
    /// that is taken over. Reads the log for it.
    package static func storeForRevocation(
        orphanOf account: AccountID,
        _ record: AccountRecord,
        in records: SealedRecords
    ) async throws(StoreError) {
        var epochs = KillEpochs()
        for entry in try await KillLog(records).contents().numbered() { epochs.fold(entry) }
        try await RevocationVault(records).storeForRevocation(
            record,
            of: account,
            epochs,
            at: Timepiece.system.now.wall
        )
    }

    /// Moves killed tokens out of accounts' records, and removes ended replicas from the list: at the start, right
    /// after a kill, and once a minute. Reads no account's record without a reason.
    func sweepPeriodically() async {
        await withDiscardingTaskGroup { tasks in
            tasks.addTask {
                while !Task.isCancelled {
                    self.sweepBell.ring()
                    await self.timepiece.rest(until: self.timepiece.now.boot.advanced(by: .seconds(60)))
                }
            }
            for await _ in self.sweepBell.rings {
                await self.lookForPendingKills()
                await self.sweep()
                do throws(StoreError) {
                    try await self.lookAfterReplicas()
                } catch {
                    self.logger.debug(
                        "ended replicas wait for the store",
                        metadata: ["error.code": "\(error.code.rawValue)"]
                    )
                }
                self.revocationBell.ring()
            }
            tasks.cancelAll()
        }
    }

    private func sweep() async {
        let (work, known) = self.state.withLock { ($0.sweep.take(), $0.machine.log) }
        guard work != .nothing else { return }
        do throws(StoreError) {
            let left: Set<AccountID> =
                switch work {
                case .nothing: []
                case .accounts(let accounts): try await self.revoker.sweep(accounts, known.epochs)
                // Without a kill no token is dead.
                case .all where known.epochs.killsNothing: []
                case .all: try await self.revoker.sweepAll(known.epochs) { await self.pageWasSwept() }
                }
            if left.isEmpty { self.noteCollected(known) }
            self.state.withLock { $0.sweep.end(left: .accounts(left)) }
        } catch {
            self.state.withLock { $0.sweep.end(left: work) }
            self.logger.debug(
                "killed or removed tokens wait for the store",
                metadata: ["error.code": "\(error.code.rawValue)"]
            )
        }
        await self.revoker.tallies.write(now: self.timepiece.now.boot, self.isKill)
    }

    /// The providers are asked while other accounts are still looked through.
    private func pageWasSwept() async {
        await self.revoker.tallies.writeNowAndThen(now: self.timepiece.now.boot, self.isKill)
        self.revocationBell.ring()
    }

    /// All accounts that the kills in `known` may concern were looked through, by this process or an earlier one.
    private func noteCollected(_ known: FencedLog) {
        let last = self.state.withLock { state in
            defer { state.collected = max(state.collected, known.epochs.last) }
            return state.collected
        }
        for kill in known.kills where kill.entry.kind == .kill && last < kill.epoch {
            self.revoker.tallies.noteCollected(kill.epoch)
        }
    }

    /// Keeps the log short, and adds to the tallies what the store has not taken: at the start, and once a minute. It has
    /// a task of its own, because removing the entries of a long log takes minutes, and no kill waits for that.
    func foldPeriodically() async {
        var keeper = KillLogKeeper(self.log, self.replicas, fewest: self.fewestToFold)
        while !Task.isCancelled {
            let isAnotherServer = self.state.withLock { state in
                defer { state.isAnotherServer = false }
                return state.isAnotherServer
            }
            if isAnotherServer { keeper.forget() }
            do throws(StoreError) {
                if let epoch = try await keeper.fold(self.known) {
                    self.state.withLock { $0.machine.log.fold(upTo: epoch) }
                }
            } catch {
                self.logger.debug(
                    "the kill log could not be folded; the gateway tries again in a minute",
                    metadata: ["error.code": "\(error.code.rawValue)"]
                )
            }
            await self.revoker.tallies.write(now: self.timepiece.now.boot, self.isKill)
            await self.timepiece.rest(until: self.timepiece.now.boot.advanced(by: .seconds(60)))
        }
    }

    /// Takes up pending kills that another process on this `state_dir` may have left. An unreadable one holds up no
    /// sweep.
    private func lookForPendingKills() async {
        do throws(StoreError) {
            try await self.takeUpPendingKills()
        } catch {
            self.logger.error(
                "a kill that waits in state_dir can't be read: what it kills goes on",
                metadata: ["error.code": "\(error.code.rawValue)", "error.reason": "\(error.message)"]
            )
        }
    }

    /// Has providers revoke tokens: after each sweep, and when a provider is to be asked again. Each provider's tokens
    /// have a task of their own.
    func revokeNowAndThen() async {
        await withDiscardingTaskGroup { tasks in
            for await _ in self.revocationBell.rings {
                // Before the listing, which lacks the tokens that a later sweep finds.
                let kills = self.sweptKills
                guard let lanes = await self.lanesToBegin() else { continue }
                for lane in lanes { tasks.addTask { await self.revoke(in: lane, kills) } }
                await self.finishTallies(of: kills)
            }
            tasks.cancelAll()
        }
    }

    /// - Returns: `nil` where the store can't be listed.
    private func lanesToBegin() async -> [RevocationLane]? {
        do throws(StoreError) {
            let found = try await self.revoker.listLanes()
            return self.revoker.lanes.change { $0.begin(found, now: self.timepiece.now.boot) }
        } catch {
            self.logger.debug(
                "killed or removed tokens wait for the store",
                metadata: ["error.code": "\(error.code.rawValue)"]
            )
            return nil
        }
    }

    private func revoke(in lane: RevocationLane, _ kills: [Epoch]) async {
        let next = await self.revoker.revokeDue(in: lane) { self.cause(at: $0) }
        await self.finishTallies(of: kills)
        guard let next else { return }
        await self.timepiece.rest(until: next)
        self.revocationBell.ring()
    }

    /// The kills all of whose tokens are stored for revocation.
    private var sweptKills: [Epoch] {
        let known = self.state.withLock { $0.sweep.isMet ? $0.machine.log : nil }
        return known?.kills.filter { $0.entry.kind == .kill }.map(\.epoch) ?? []
    }

    /// Counts the tokens of those kills that are worked off, once.
    private func finishTallies(of kills: [Epoch]) async {
        do throws(StoreError) {
            try await self.revoker.finishTallies(of: kills)
        } catch {
            self.logger.debug(
                "the count of killed tokens waits for the store",
                metadata: ["error.code": "\(error.code.rawValue)"]
            )
        }
    }

    /// Looks at other processes' claims, once a second while any of them holds this process up.
    func watchClaims() async {
        for await _ in self.revoker.claims.bell.rings {
            while !self.revoker.claims.places.isEmpty, !Task.isCancelled {
                await self.timepiece.rest(until: self.timepiece.now.boot.advanced(by: .seconds(1)))
                if await self.revoker.lookAtClaims(self.epochs) { self.revocationBell.ring() }
            }
        }
    }

    /// Whether the entry numbered `epoch` killed or removed tokens. An entry that this process has not read counts as a
    /// kill. No entry has the number 0.
    private func cause(at epoch: Epoch) -> Revoker.Cause {
        epoch == .start ? .dropped : self.known.contents[epoch]?.kind == .removed ? .removed : .killed
    }

    private func isKill(_ epoch: Epoch) -> Bool { self.cause(at: epoch) == .killed }

    /// The outcomes for the tokens that a kill took away, a page at a time.
    ///
    /// - Parameter after: the cursor of the page before; `nil`: the first page.
    /// - Returns: also the cursor for the next page; `nil` on the last one.
    package func revocations(
        of id: KillID,
        after: String? = nil,
        limit: Int = .max
    ) async throws(KillSwitchError) -> (records: [RevocationRecord], next: String?) {
        let kill = try await self.kill(of: id)
        do throws(StoreError) {
            let after = after.map { RecordKey(rawValue: $0) }
            let page = try await self.revoker.revocations(of: kill.epoch, after: after, limit: limit)
            return (page.records, page.next?.rawValue)
        } catch {
            throw KillSwitchError(error)
        }
    }

    /// The tokens of an account that kills and removals took away and that are not revoked yet.
    ///
    /// - Parameter settled: tokens to leave out.
    package func tokensToRevoke(
        of account: AccountID,
        besides settled: [Secret] = []
    ) async throws(StoreError) -> [UnrevokedToken] {
        try await self.revoker.unrevoked(of: account, self.epochs, besides: settled)
    }
}
