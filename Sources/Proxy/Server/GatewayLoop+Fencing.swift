import TokenModel

/// The moments from which on this loop writes no token.
extension GatewayLoop {
    /// This loop's part of ``ProxyServer/fence(_:providers:)``, within this tick.
    func fence(_ epochs: KillEpochs, providers: AccountMap<ProviderID>) -> FencedExchanges {
        // Fence the slots first: the replies and closed connections below make room for other requests, whose heads may
        // be sent at once.
        self.gateway.fence(epochs)
        let isKilled = { (slot: Int) in
            self.gateway.isKilled(slot: slot, at: providers[self.gateway.slots[slot].account])
        }
        self.forgetWaiters { isKilled($0.slot) }
        var fenced = FencedExchanges()
        for exchange in self.exchanges { fenced += exchange.fence(isKilled: isKilled) }
        for pool in self.pools { pool.severUnsent() }
        return fenced
    }

    func setLeaseDeadline(_ end: BootInstant) { self.gateway.leaseEnd = end }

    /// Called at each sweep after the lease's end. The sweep period is far shorter than the time that other replicas
    /// wait beyond that end.
    func severUnsent() {
        for exchange in self.exchanges { exchange.leaseEnded() }
        for pool in self.pools { pool.severUnsent() }
    }

    /// All exchanges. It is a list of its own: ending an exchange may close its connection, which changes the loop's.
    var exchanges: [Exchange] {
        self.callers.compactMap(\.exchange) + self.revalidations.compactMap(\.exchange)
    }

    /// The slots of requests in progress. A tunnel needs its token no more, but a kill of it ends the tunnel.
    var slotUsers: SlotUsers {
        var users = SlotUsers()
        for exchange in self.exchanges {
            guard let slot = exchange.match?.slot else { continue }
            if exchange.isTunnel { users.holders.insert(slot) } else { users.senders.insert(slot) }
        }
        return users
    }

    /// This loop's part of ``ProxyServer/lock()``, within this tick.
    ///
    /// - Returns: the number of requests that are left to finish.
    func lock() -> Int {
        // The order is that of ``fence(_:providers:)``, for the same reasons.
        self.gateway.lock()
        self.forgetQueries()
        for revalidation in Array(self.revalidations) { revalidation.stop() }
        for exchange in self.exchanges { exchange.lock() }
        for pool in self.pools { pool.severUnsent() }
        self.closeIdle()
        self.requestHeads.wipe()
        self.responseHeads.wipe()
        return self.requestCount
    }
}
