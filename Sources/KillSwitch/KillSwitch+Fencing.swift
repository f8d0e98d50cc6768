internal import Synchronization
internal import TokenModel

/// Lets this process act on what the log says, before it acknowledges that.
extension KillSwitch {
    /// Fences this process by everything that is new in `contents`, in one step: a long log takes no longer than one
    /// entry.
    func take(_ contents: KillLogContents, isStart: Bool) async {
        let known = self.known
        let entries = contents.numbered(behind: known.epochs.last).map(\.entry)
        var replaced = Set(entries.flatMap(\.replacements).map(\.account))
        if contents.snapshot.last > known.epochs.last {
            replaced.formUnion(contents.snapshot.imports.filter { known.imports[$0.key]?.grant != $0.value }.keys)
        }
        let (_, begun, pendingKills) = await self.fenceAnew(cause: contents)
        if let lock = self.newLock, lock.epoch > known.epochs.last { await self.take(lock.entry) }
        if !isStart {
            // One entry may report a thousand imports, and the lease waits for this.
            await withDiscardingTaskGroup { tasks in
                for account in replaced { tasks.addTask { await self.fence.replaced(account) } }
            }
            for kill in begun where kill.entry.kind == .kill { self.announce(kill) }
        }
        for pendingKill in pendingKills where pendingKill.cause != nil { self.tell(ofKept: pendingKill) }
        for kill in begun where !kill.isEnded && kill.entry.isSeenThrough { self.newlyBegun.yield(kill.epoch) }
        if entries.contains(where: { !$0.killsNothing }) { self.sweepBell.ring() }
    }

    /// Fences this process by its pending kills and by the log: by `read`, or else by the log that it has applied. The
    /// calls run one after the other, so that no change undoes another.
    ///
    /// - Returns: how many requests were left to finish, the new kills, and the pending kills that became those.
    @discardableResult
    func fenceAnew(
        cause read: KillLogContents? = nil
    ) async -> (draining: Int, kills: [FencedLog.Kill], pendingKills: [PendingKill]) {
        await self.fences.run {
            let known = self.known
            let contents = read ?? known.contents
            let epochs = known.fencing(by: contents)
            let draining = await self.fence.fence(epochs)
            let (kills, pendingKills) = self.state.withLock { state in
                // In one step: no sweep that has begun before it covers a kill that the log has from now on.
                for new in contents.numbered(behind: known.epochs.last) { state.sweep.add(new.entry) }
                return state.machine.log.fenced(by: contents, epochs, draining: draining)
            }
            return (draining, kills, pendingKills)
        }
    }
}
