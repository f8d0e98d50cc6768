internal import Logging
internal import Synchronization
internal import TokenModel
internal import TokenStorage

/// Kills that were kept are told of when they stand, until they are recorded.
extension KillSwitch {
    /// Forgets orders that stand in the log now.
    func releaseOrders() async {
        let orders = self.state.withLock { state in
            defer { state.released = [] }
            return state.released
        }
        for order in orders where order.cause != nil {
            await self.letGo(of: order)
            self.logger.notice(
                "a kill that had to wait for the store stands there now",
                metadata: ["kill.id": "\(order.entry.id)", "kill.scope": "\(order.entry.scope.text)"]
            )
        }
    }

    /// Tells of an order that stands, unless another process does, or who is still about to keep it hears that it stands.
    func letGo(of order: KillOrder) async {
        // First, as what is let go of is looked for, and would be told of without what is known here.
        guard self.state.withLock({ $0.told.insert(order.entry.id).inserted }) else { return }
        let isReleased = await self.copy?.release(order: order.entry.id.rawValue) ?? false
        if isReleased || order.isUnkept, self.tell(ofKept: order, isInCopy: isReleased) { return }
        self.state.withLock { _ = $0.told.remove(order.entry.id) }
    }

    /// Tells of what was let go of and not recorded: by an earlier start, or a process on this `state_dir` that may have died
    /// since, or still tries.
    func tellOfUnrecorded() async {
        guard let copy = self.copy else { return }
        do throws(StoreError) {
            for file in try await copy.standing() { self.tell(ofUnrecorded: file) }
        } catch {
            self.complain(ofUnrecorded: error)
        }
    }

    private func tell(ofUnrecorded file: Result<Secret, StoreError>) {
        let entry: KillEntry
        do throws(StoreError) {
            entry = try KillEntry(decoding: file.get())
        } catch {
            // The others are told of all the same.
            return self.complain(ofUnrecorded: error)
        }
        guard self.state.withLock({ $0.told.insert(entry.id).inserted }) else { return }
        if self.tell(ofKept: KillOrder(entry: entry), isInCopy: true) { return }
        self.state.withLock { _ = $0.told.remove(entry.id) }
    }

    private func complain(ofUnrecorded error: StoreError) {
        self.logger.warning(
            "a kill in state_dir that is not in the audit log yet can't be read",
            metadata: ["error.code": "\(error.code.rawValue)", "error.reason": "\(error.message)"]
        )
    }

    /// Has a kill of ``keptKills`` recorded, once among the processes that share a `state_dir`; until then it outlives them.
    ///
    /// - Parameter record: says whether it has.
    /// - Returns: whether nothing is left to be done; else try again.
    package func settle(_ kill: KeptKill, _ record: @Sendable () async -> Bool) async -> Bool {
        guard kill.isInCopy, let copy = self.copy else { return await record() }
        return await copy.settle(kill.id.rawValue, record)
    }

    /// - Returns: whether it stands as far as this process has read the log.
    private func tell(ofKept order: KillOrder, isInCopy: Bool) -> Bool {
        let id = order.entry.id
        let (epoch, asker) = self.state.withLock { state in
            (state.kills.last { $0.entry.id == id }?.epoch, state.askers[id])
        }
        guard let epoch else { return false }
        self.newlyStanding.yield(
            KeptKill(
                id: id,
                scope: order.entry.scope,
                reason: order.entry.reason,
                epoch: epoch,
                orderedAt: order.entry.at,
                isOwn: asker != nil,
                orderer: asker?.address,
                isInCopy: isInCopy
            )
        )
        return true
    }
}
