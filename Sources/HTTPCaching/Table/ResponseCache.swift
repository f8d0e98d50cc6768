package import HTTPWire
internal import Synchronization
package import TokenModel

/// The responses that a route keeps in memory, for all its connections.
///
/// The resources are divided among shards, each under a lock of its own. Under a lock, only numbers and references
/// move: no body is copied, nothing is freed and nobody is called, and each call looks at a bounded number of items.
///
/// All memory counts against one bound: stored responses, those that are being filled, and evicted bodies that somebody
/// still reads. The shard that uses most gives up what makes room.
package final class ResponseCache: Sendable {
    private static let mostShards = 16

    private let shards: [CacheShard]
    private let budget: MemoryBudget
    private let pool = BlockPool()
    private let longestBody: Atomic<Int>
    private let evictions = Atomic(0)

    /// - Parameters:
    ///   - maxSize: how much memory all responses may use, in bytes.
    ///   - maxObject: how long a body may be, in bytes.
    package init(maxSize: Int, maxObject: Int) {
        // Each shard has room for several of the largest responses, or it could hardly choose what to give up.
        var count = Self.mostShards
        while count > 1, maxSize / count < 8 * maxObject { count /= 2 }
        self.shards = (0..<count).map { _ in CacheShard() }
        self.budget = MemoryBudget(limit: maxSize)
        self.longestBody = Atomic(maxObject)
    }

    // MARK: - Looking up

    /// Looks for the response to a request, the latest of those whose `Vary` matches (RFC 9111 §4.1), and notes its use.
    ///
    /// - Parameter owner: of the credential that the request would be sent with. Only a response that was fetched with
    ///   the same authorization is found. Whether that has been killed since is for the calling code to judge.
    package func find(
        _ key: CacheKey,
        for owner: CacheOwner,
        matching request: RequestHead
    ) -> FoundResponse {
        self.shard(of: key).withState { $0.entries.find(key, for: owner, matching: request) }
    }

    /// Begins a request to the upstream, or has it wait for one with the same key.
    ///
    /// - Parameters:
    ///   - found: what ``find(_:for:matching:)`` has returned.
    ///   - waiter: is told when the other request ends; `nil` if this one does not wait.
    package func begin(
        _ key: CacheKey,
        having found: FoundResponse,
        waiter: (any CacheWaiter)?,
        now: BootInstant
    ) -> CacheBegin {
        let shard = self.shard(of: key)
        let part: Collapses.Part? = shard.withState { state in
            guard state.entries.stamp(of: key) == found.stamp else { return nil }
            return state.collapses.join(key, waiter, now: now)
        }
        return switch part {
        case nil: .changed
        case .leads(let serial): .leads(CacheFill(self, key, serial: serial))
        case .waits(let serial, let place): .waits(WaitTicket(shard: shard, key: key, serial: serial, place: place))
        case .alone: .alone
        }
    }

    // MARK: - Updating and invalidating

    /// Stores `new` in place of `old`, which a response to HEAD has updated (RFC 9111 §4.3.5).
    ///
    /// - Returns: whether it is stored; not if `old` is gone.
    package func replace(_ old: StoredResponse, by new: StoredResponse, at key: CacheKey) -> Bool {
        let charge = EntryTable.charge(for: new, key)
        guard self.makeRoom(charge) else { return false }
        let removed = self.shard(of: key).withState { $0.entries.replace(old, by: new, at: key, charge: charge) }
        guard let removed else {
            self.budget.give(charge)
            return false
        }
        self.drop([removed])
        return true
    }

    package func remove(_ stored: StoredResponse, at key: CacheKey) {
        stored.withdraw()
        let removed = self.shard(of: key).withState { $0.entries.remove(stored, at: key) }
        if let removed { self.drop([removed]) }
    }

    /// Removes all responses of the resource that `key` names, for all requesters (RFC 9111 §4.4). What is under way
    /// for it is not stored.
    package func invalidate(resourceOf key: CacheKey) {
        let shard = self.shard(of: key)
        // First, or a response that was asked for before could be stored behind us.
        for waiters in shard.withState({ $0.collapses.detach(resourceOf: key) }) { waiters.settle(.retry) }
        var removed: [EntryTable.Removed]
        repeat {
            removed = shard.withState { $0.entries.removeSome(ofResource: key) }
            for removed in removed { removed.stored.withdraw() }
            self.drop(removed)
        } while !removed.isEmpty
    }

    /// Removes all responses that `isPurged` selects. What is under way for such keys is not stored, and those who wait
    /// for it look again: one of them asks upstream anew, so none gets a response older than the purge.
    ///
    /// - Parameter isPurged: gets a key and the owner of its response; `nil` for a response that is under way.
    /// - Returns: how many responses were removed, and how much memory they used.
    package func purge(where isPurged: (CacheKey, CacheOwner?) -> Bool) -> (entries: Int, bytes: Int) {
        var purged = (entries: 0, bytes: 0)
        for shard in self.shards {
            for lead in shard.withState({ $0.collapses.underWay }) where isPurged(lead.key, nil) {
                shard.withState { $0.collapses.end(lead.key, serial: lead.serial) }?.settle(.retry)
            }
            var position = 0
            while let visited = shard.withState({ $0.entries.visit(&position) }) {
                let chosen = visited.filter { isPurged($0.key, $0.owner) }
                guard !chosen.isEmpty else { continue }
                let removed = shard.withState { $0.entries.remove(chosen) }
                purged.entries += removed.count
                purged.bytes += removed.reduce(0) { $0 + $1.size }
                for removed in removed { removed.stored.withdraw() }
                self.drop(removed)
            }
        }
        return purged
    }

    /// Sets new bounds, and evicts what exceeds them. Longer responses that are stored already stay.
    package func resize(maxSize: Int, maxObject: Int) {
        self.longestBody.store(maxObject, ordering: .relaxed)
        self.budget.limit = maxSize
        var excess = self.budget.used - maxSize
        while excess > 0, let freed = self.evict(excess) { excess -= freed }
    }

    /// What the cache holds now, and what it has given up since its beginning.
    package var statistics: CacheStatistics {
        CacheStatistics(
            entries: self.shards.reduce(0) { $0 + $1.withState { $0.entries.count } },
            bytes: self.budget.used,
            evictions: self.evictions.load(ordering: .relaxed)
        )
    }

    // MARK: - For fills

    var maxObject: Int { self.longestBody.load(ordering: .relaxed) }

    func emptyBody(length: Int?) -> StoredBody { StoredBody(length: length, pool: self.pool, budget: self.budget) }

    /// Takes `bytes` from the budget, and evicts others for that.
    func makeRoom(_ bytes: Int) -> Bool {
        guard bytes <= self.budget.limit else { return false }
        var freed = 0
        while !self.budget.take(bytes) {
            // What others still read is not free yet. Evicting on and on would empty the cache for one response.
            let missing = self.budget.used + bytes - self.budget.limit
            guard freed <= 2 * bytes + self.maxObject, let more = self.evict(missing) else { return false }
            freed += more
        }
        return true
    }

    /// Stores a response, and tells those who wait. Returns `false`, and tells nobody, if there is no room or the
    /// request was detached.
    ///
    /// - Parameter old: the response that it takes the place of; others go by `Vary`.
    func store(
        _ stored: StoredResponse,
        insteadOf old: StoredResponse? = nil,
        at key: CacheKey,
        serial: UInt64
    ) -> Bool {
        let charge = EntryTable.charge(for: stored, key)
        guard self.makeRoom(charge) else { return false }
        let result: (waiters: WaitingList, removed: EntryTable.Removed?)? = self.shard(of: key).withState { state in
            // What has superseded the old response meanwhile is newer than its confirmation.
            guard old?.isWithdrawn != true, let waiters = state.collapses.end(key, serial: serial) else { return nil }
            if let old, let removed = state.entries.replace(old, by: stored, at: key, charge: charge) {
                return (waiters, removed)
            }
            return (waiters, state.entries.insert(stored, at: key, charge: charge))
        }
        guard let result else {
            self.budget.give(charge)
            return false
        }
        if let removed = result.removed { self.drop([removed]) }
        result.waiters.settle(.stored)
        return true
    }

    /// Has those who wait for a request go alone, and nobody wait for it from now on.
    func release(_ key: CacheKey, serial: UInt64) {
        self.shard(of: key).withState { $0.collapses.release(key, serial: serial) }?.settle(.goAlone)
    }

    /// Ends a request without a stored response, and tells those who wait.
    func settle(
        _ key: CacheKey,
        serial: UInt64,
        _ outcome: CollapseOutcome,
        uncollapsibleUntil: BootInstant? = nil
    ) {
        let waiters = self.shard(of: key).withState { state in
            state.collapses.end(key, serial: serial, uncollapsibleUntil: uncollapsibleUntil)
        }
        waiters?.settle(outcome)
    }

    // MARK: - Room

    private func shard(of key: CacheKey) -> CacheShard {
        // The indexes of a shard use the low bits.
        self.shards[(key.resourceHash >> 48) & (self.shards.count - 1)]
    }

    /// Evicts `bytes` or as much as one turn may. Returns how many bytes went, or `nil` if nothing is stored.
    private func evict(_ bytes: Int) -> Int? {
        var fullest = 0
        for index in self.shards.indices where self.shards[index].bytes > self.shards[fullest].bytes { fullest = index }
        guard self.shards[fullest].bytes > 0 else { return nil }
        let removed = self.shards[fullest].withState { $0.entries.evict(bytes) }
        self.evictions.add(removed.count, ordering: .relaxed)
        let freed = removed.reduce(0) { $0 + $1.size }
        self.drop(removed)
        return freed
    }

    /// Frees what left the table, and then gives its share of the budget back.
    private func drop(_ removed: consuming [EntryTable.Removed]) {
        let charge = removed.reduce(0) { $0 + $1.charge }
        for index in removed.indices { removed[index].key.wipe() }
        removed = []
        self.budget.give(charge)
    }
}

/// What a request does that is not answered from memory.
package enum CacheBegin: Sendable {
    /// Asks upstream. The response may be stored, and others wait for it.
    case leads(CacheFill)
    /// Waits for another request with the same key.
    case waits(WaitTicket)
    /// Asks upstream for itself: another request is under way, and this one does not wait for it. The response is not
    /// stored.
    case alone
    /// Something was stored or removed since the look-up: look again.
    case changed
}

/// The place of a request that waits for another one.
package struct WaitTicket: Sendable {
    let shard: CacheShard
    let key: CacheKey
    let serial: UInt64
    let place: WaitingList.Place

    /// Stops waiting. Returns `false` if the waiter was told, or is being told now.
    @discardableResult
    package func leave() -> Bool {
        self.shard.withState { $0.collapses.leave(self.key, serial: self.serial, place: self.place) } != nil
    }

    /// Stops waiting because it takes too long. The others go alone now, and for a minute nobody waits for a request
    /// with this key. Returns `false` if the waiter was told, or is being told now.
    package func expire(now: BootInstant = .now) -> Bool {
        let (isLeft, others) = self.shard.withState { state in
            let isLeft = state.collapses.leave(self.key, serial: self.serial, place: self.place) != nil
            let until = now.advanced(by: CacheFill.uncollapsible)
            return (isLeft, state.collapses.release(self.key, serial: self.serial, uncollapsibleUntil: until))
        }
        others?.settle(.goAlone)
        return isLeft
    }
}

/// What a cache holds and has given up.
package struct CacheStatistics: Equatable, Sendable {
    package let entries: Int
    /// Of memory in use, never above the bound.
    package let bytes: Int
    /// How many responses have made room for others.
    package let evictions: Int

    package init(entries: Int, bytes: Int, evictions: Int) {
        self.entries = entries
        self.bytes = bytes
        self.evictions = evictions
    }
}

/// A part of a cache, under a lock of its own: the resources whose hashes fall on it.
final class CacheShard: Sendable {
    struct State: ~Copyable {
        var entries = EntryTable()
        var collapses = Collapses()
    }

    private let state = Mutex(State())
    private let size = Atomic(0)

    /// What its responses use, read without the lock.
    var bytes: Int { self.size.load(ordering: .relaxed) }

    /// Runs `body` under the lock. What `body` takes out must be in its result: it is freed after the lock is released.
    func withState<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        self.state.withLock { state in
            let result = body(&state)
            self.size.store(state.entries.bytes, ordering: .relaxed)
            return result
        }
    }
}
