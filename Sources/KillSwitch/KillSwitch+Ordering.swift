internal import Logging
internal import Synchronization
package import TokenModel
internal import TokenStorage

/// Kills that the store has not taken: they hold in this process at once, outlive it in `state_dir`, and are written when
/// the store is there again.
extension KillSwitch {
    /// Fences this process against `entry`, before anything is asked of the store.
    func order(_ entry: KillEntry, by orderer: String?) async {
        self.state.withLock { state in
            state.askers[entry.id] = Asker(address: orderer)
            state.orders.append(KillOrder(entry: entry))
        }
        let draining = await self.fenceAnew().draining
        if entry.streams == .drain { self.noteOrder(entry.id) { $0.draining = draining } }
    }

    /// Goes back on an order that no store will ever take.
    func withdraw(_ entry: KillEntry) async {
        self.state.withLock { state in
            state.orders.removeAll { $0.entry.id == entry.id }
            state.askers[entry.id] = nil
        }
        await self.fenceAnew()
    }

    /// Keeps an order that the store did not take.
    ///
    /// - Returns: whether it waits, and is told of when it stands; `false` where it stands all the same.
    func keep(_ entry: KillEntry, _ cause: StoreError) async -> Bool {
        let waits = self.noteOrder(entry.id) { order in
            order.cause = cause.code
            order.isUnkept = self.copy == nil
        }
        // A poll has read it meanwhile.
        guard waits else { return false }
        self.logger.error(
            """
            a kill does not stand in the store: this replica has stopped, another does when it could not read the store for \
            its lease; the kill is written as soon as the store takes it
            """,
            metadata: [
                "kill.id": "\(entry.id)", "kill.scope": "\(entry.scope.text)", "error.code": "\(cause.code.rawValue)",
                "error.reason": "\(cause.message)",
            ]
        )
        do throws(StoreError) {
            guard let copy = self.copy else { throw StoreError(.unwritable, "there is no copy in state_dir") }
            try await copy.keep(order: entry.encoded(), id: entry.id.rawValue)
            if self.noteOrder(entry.id, { $0.isInCopy = true }) { return true }
            // It came to stand before it was kept, or as it was: then somebody has let go of it, and tells.
            return await !copy.drop(order: entry.id.rawValue)
        } catch {
            self.logger.error(
                "a kill that the store has not taken could not be kept in state_dir: it ends with this process",
                metadata: ["kill.id": "\(entry.id)", "error.reason": "\(error.message)"]
            )
            return self.noteOrder(entry.id) { $0.isUnkept = true } || self.copy == nil
        }
    }

    /// Takes up what an earlier start, or another process on this `state_dir`, could not write: before anything is served,
    /// and now and then, as that process may have died since.
    ///
    /// - Throws: ``StoreError/Code/unreadable`` where one is damaged, as nobody knows what it kills; the others hold.
    func takeUpOrders() async throws(StoreError) {
        guard let copy = self.copy else { return }
        var damage: StoreError?
        for file in try await copy.orders() {
            let entry: KillEntry
            do throws(StoreError) {
                entry = try KillEntry(decoding: file.get())
            } catch {
                damage = damage ?? error
                continue
            }
            guard !self.state.withLock({ $0.entries.contains { $0.id == entry.id } }) else {
                // Who has written it has ended before it could say so.
                await self.letGo(of: KillOrder(entry: entry, isInCopy: true))
                continue
            }
            let isNew = self.state.withLock { state in
                guard !state.orders.contains(where: { $0.entry.id == entry.id }),
                    !state.entries.contains(where: { $0.id == entry.id })
                else { return false }
                state.orders.append(KillOrder(entry: entry, isInCopy: true, cause: .unreachable))
                return true
            }
            guard isNew else { continue }
            self.logger.warning(
                "a kill of before waits to be written to the store, and holds",
                metadata: ["kill.id": "\(entry.id)", "kill.scope": "\(entry.scope.text)"]
            )
        }
        if self.state.withLock({ !$0.orders.isEmpty }) { await self.fenceAnew() }
        if let damage { throw damage }
    }

    /// Writes the orders that wait, each behind `known`, the whole log as far as it was just read. What can't be written
    /// is tried again by the next poll: that the log could be read is worth a lease.
    ///
    /// - Returns: whether anything new stands in the log.
    func raiseOrders(behind known: Epoch, _ new: [KillEntry]) async -> Bool {
        let ids = Set(new.map(\.id))
        let waiting = self.state.withLock { state in
            state.orders.filter { $0.cause != nil && !ids.contains($0.entry.id) }
        }
        var hasRaised = false
        for order in waiting {
            do throws(StoreError) {
                _ = try await self.log.append(order.entry, behind: known)
                hasRaised = true
            } catch {
                self.noteOrder(order.entry.id) { $0.cause = error.code }
                self.logger.debug("a kill waits for the store", metadata: ["error.code": "\(error.code.rawValue)"])
                break
            }
        }
        return hasRaised
    }

    /// - Returns: whether it waits still.
    @discardableResult
    func noteOrder(_ id: KillID, _ change: (inout KillOrder) -> Void) -> Bool {
        self.state.withLock { state in
            guard let index = state.orders.firstIndex(where: { $0.entry.id == id }) else { return false }
            change(&state.orders[index])
            return true
        }
    }

    /// What can be said of a kill that the store has not taken.
    func report(on order: KillOrder) -> KillReport {
        KillReport(
            id: order.entry.id,
            scope: order.entry.scope,
            reason: order.entry.reason,
            streams: order.entry.streams,
            epoch: .start,
            state: .pending,
            store: order.cause == .unwritable ? .unwritable : .unreachable,
            replicas: [KillReport.Replica(name: self.name, state: .acknowledged)],
            draining: order.draining,
            startedAt: order.entry.at
        )
    }

    /// Scopes of kills that the store has not taken.
    package var waitingScopes: [KillScope] {
        self.state.withLock { $0.orders.filter { $0.cause != nil }.map(\.entry.scope) }
    }

    /// Fences this process by its orders and `entries`, which stand behind those it goes by.
    ///
    /// One after the other, whoever asks: no change undoes another.
    /// - Returns: how many requests were left to end, the kills among `entries`, and the orders that these were, as they were
    ///   at the end.
    @discardableResult
    func fenceAnew(
        taking entries: [KillEntry] = []
    ) async -> (draining: Int, kills: [Kill], orders: [KillOrder]) {
        let ids = Set(entries.map(\.id))
        return await self.turnstile.pass {
            var (epochs, orders) = self.state.withLock { ($0.epochs, $0.orders) }
            for entry in entries { epochs.fold(entry) }
            orders.removeAll { ids.contains($0.entry.id) }
            // Of several orders the one that cuts goes.
            epochs.order(
                Dictionary(orders.map { ($0.entry.scope, $0.entry.streams) }) { $0 == .abort ? $0 : $1 }
            )
            let draining = await self.fence.fence(epochs)
            let new = epochs
            return self.state.withLock { state in
                // In one step: at any time a kill is found, be it as an order or as one that stands.
                let kills = state.take(entries, draining: draining)
                state.epochs = new
                let taken = state.orders.filter { ids.contains($0.entry.id) }
                state.orders.removeAll { ids.contains($0.entry.id) }
                return (draining, kills, taken)
            }
        }
    }
}
