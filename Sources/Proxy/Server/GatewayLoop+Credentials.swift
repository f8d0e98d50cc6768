import NIOCore
import TokenModel

/// The requests of a loop that wait for a credential, and what the loop tells of those that it uses.
extension GatewayLoop {
    func apply(_ event: CredentialEvent) {
        // A process that learns that a credential was dropped must not see its token sent afterwards.
        if case .dropped = event { self.flushAll() }
        self.gateway.apply(event)
    }

    /// Calls `exchange` back with a credential for a slot's account, or with the reason why there is none.
    func requestCredential(for exchange: Exchange, slot: Int, refused: TokenVersion?) {
        guard !self.gateway.isLocked else { return exchange.credentialRefused(.locked) }
        if let refused, let credential = self.gateway.usableCredential(slot: slot), TokenVersion(credential) != refused
        {
            return exchange.credentialArrived(credential)
        }
        guard self.limits.waiters.enter() else {
            return exchange.credentialRefused(
                CredentialError(
                    .overloaded,
                    "too many requests wait for a token; see limits.waiters",
                    retryAfter: .seconds(1)
                )
            )
        }
        let key = WaiterKey(slot: slot, refused: refused)
        exchange.wait = key
        if self.waiting.enter((exchange, exchange.requestID), key) { self.ask(key) }
    }

    /// How long a request may wait for a credential of a slot's account.
    func credentialTimeout(slot: Int) -> Duration {
        self.gateway.slots[slot].requiresApproval ? self.credentialTimeout + self.approvalWait : self.credentialTimeout
    }

    /// Forgets waiters, who get their replies elsewhere. Do this before the replies: their callers may send the next
    /// request at once.
    ///
    /// - Parameter keys: what they wait for.
    func forgetWaiters(_ keys: (WaiterKey) -> Bool) { self.waiting.forget(keys) }

    /// Forgets all waiters, and all queries that are under way.
    func forgetQueries() {
        self.lockCount += 1
        self.forgetWaiters { _ in true }
    }

    /// Gives back the place of a request that ended while it waited for a credential.
    func stopsWaiting(_ exchange: Exchange) {
        guard let key = exchange.wait.take() else { return }
        self.limits.waiters.leave()
        self.waiting.left(key) { $0.exchange.requestID == $0.requestID && $0.exchange.wait == key }
    }

    /// A request carries the slot's current token.
    func used(_ token: TokenVersion, slot: Int) {
        guard self.gateway.use(slot: slot) else { return }
        self.credentials.used(token, of: self.gateway.slots[slot].account)
    }

    /// An upstream accepted the token.
    func accepted(_ token: TokenVersion, slot: Int) {
        guard self.gateway.prove(token, slot: slot) else { return }
        self.credentials.accepted(token, of: self.gateway.slots[slot].account)
    }

    /// An upstream refused the token of a request that was replayed after a 401.
    func refusedAgain(_ token: TokenVersion, slot: Int) {
        self.credentials.refusedAgain(token, of: self.gateway.slots[slot].account)
    }

    /// Has a dead token replaced although no request waits for that.
    func refreshInBackground(slot: Int, refused: TokenVersion?) {
        guard let refused, let credential = self.gateway.slots[slot].credential, TokenVersion(credential) == refused
        else { return }
        let key = WaiterKey(slot: slot, refused: refused)
        if self.waiting.ask(key) { self.ask(key) }
    }

    private func ask(_ key: WaiterKey, lapses: Int = 0) {
        let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
        let eventLoop = self.eventLoop
        let account = self.gateway.slots[key.slot].account
        let lockCount = self.lockCount
        self.credentialQueries.yield(
            CredentialQuery(account: account, refused: key.refused) { result in
                eventLoop.execute {
                    if bound.value.lockCount == lockCount { bound.value.answered(key, result, lapses: lapses) }
                }
            }
        )
    }

    /// How often a credential is asked for anew because the lease or the approval ended while it was on its way.
    private static let mostLapses = 3

    private func answered(
        _ key: WaiterKey,
        _ result: Result<UpstreamCredential, CredentialError>,
        lapses: Int
    ) {
        // Nobody waits for a slot that is gone.
        guard self.gateway.slots.contains(key.slot) else { return _ = self.waiting.empty(key) }
        if case .success = result, self.gateway.obstacle(slot: key.slot) != nil, lapses < Self.mostLapses {
            // The next response waits for the lease, or the approval.
            return self.ask(key, lapses: lapses + 1)
        }
        // Free the places before any exchange is called back: an exchange that ends then has no place to give back.
        let waiters = self.waiting.empty(key).filter { waiter in
            waiter.exchange.requestID == waiter.requestID && waiter.exchange.wait == key
        }
        for (exchange, _) in waiters { exchange.wait = nil }
        self.limits.waiters.leave(waiters.count)
        let result = result.flatMap { credential in
            self.gateway.refusal(of: credential).map { .failure($0) } ?? .success(credential)
        }
        for (exchange, requestID) in waiters where exchange.requestID == requestID {
            exchange.isReleased = true
            switch result {
            case .success(let credential): exchange.credentialArrived(credential)
            case .failure(let error): exchange.credentialRefused(error)
            }
        }
    }
}
