internal import Logging
internal import Synchronization
package import TokenModel
package import TokenStorage

/// Has killed tokens revoked at their providers.
extension KillSwitch {
    /// Has dead tokens that were just stored revoked soon.
    package func lookForKilledTokens() { self.sweepBell.ring() }

    /// Has the tokens of a record revoked if they are dead. Call it before the record is overwritten.
    package func storeForRevocation(tokensOf record: AccountRecord, _ account: AccountID) async throws(StoreError) {
        let now = self.timepiece.now.wall
        try await self.revoker.revocations.storeForRevocation(record, of: account, self.epochs, at: now)
        self.revocationBell.ring()
    }

    /// Has tokens revoked that were issued for an account and never came into its record, whether they are dead or not.
    package func storeForRevocation(dropped record: AccountRecord, _ account: AccountID) async throws(StoreError) {
        let now = self.timepiece.now.wall
        try await self.revoker.revocations.storeForRevocation(dropped: record, of: account, self.epochs, at: now)
        self.revocationBell.ring()
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
    /// after a kill, and once a minute.
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
                do throws(StoreError) {
                    try await self.revoker.sweep(self.epochs)
                    try await self.lookAfterReplicas()
                } catch {
                    self.logger.debug(
                        "killed or removed tokens wait for the store",
                        metadata: ["error.code": "\(error.code.rawValue)"]
                    )
                }
                self.revocationBell.ring()
            }
            tasks.cancelAll()
        }
    }

    /// Keeps the log short: at the start, and once a minute. It has a task of its own, because removing the entries of
    /// a long log takes minutes, and no kill waits for that.
    func foldPeriodically() async {
        let keeper = KillLogKeeper(self.log, self.replicas)
        while !Task.isCancelled {
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

    /// Has providers revoke tokens: after each sweep, and when a provider is to be asked again.
    func revokeNowAndThen() async {
        await withDiscardingTaskGroup { tasks in
            for await _ in self.revocationBell.rings {
                guard let next = await self.revoke() else { continue }
                tasks.addTask {
                    await self.timepiece.rest(until: next)
                    self.revocationBell.ring()
                }
            }
            tasks.cancelAll()
        }
    }

    /// - Returns: when to revoke again, if that is before the next sweep.
    private func revoke() async -> BootInstant? {
        do throws(StoreError) {
            return try await self.revoker.revokeDue { self.cause(at: $0) }
        } catch {
            self.logger.debug(
                "killed or removed tokens wait for the store",
                metadata: ["error.code": "\(error.code.rawValue)"]
            )
            return nil
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

    /// The outcome for each token that a kill took away.
    package func revocations(of id: KillID) async throws(KillSwitchError) -> [RevocationRecord] {
        let kill = try await self.kill(of: id)
        do throws(StoreError) {
            return try await self.revoker.revocations(of: kill.epoch)
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
