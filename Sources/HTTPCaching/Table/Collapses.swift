internal import TokenModel

/// A request that waits for another one with the same key.
package protocol CacheWaiter: Sendable {
    /// Called at most once, without any lock, on the thread on which the other request came to its end.
    func settled(_ outcome: CollapseOutcome)
}

/// What has become of the request that others waited for.
package enum CollapseOutcome: Equatable, Sendable {
    /// Its response is stored: look again.
    case stored
    /// Its response is for one request only, or can't be stored: forward the own request.
    case goAlone
    /// It has ended without a response that could be stored, or the resource was invalidated meanwhile: look again.
    case retry
}

/// The requests under way for the keys of a shard, and who waits for each of them.
struct Collapses: ~Copyable {
    private struct Lead {
        let serial: UInt64
        /// `nil` if nobody waits for it any more.
        var waiters: WaitingList?
    }

    /// A request that a purge may detach.
    struct UnderWay: Sendable {
        let key: CacheKey
        let serial: UInt64
    }

    private var leads: [CacheKey: Lead] = [:]
    private var lastSerial: UInt64 = 0
    private var uncollapsible = UncollapsibleKeys()

    /// What a request does if its key is not served from memory.
    enum Part {
        case leads(serial: UInt64)
        case waits(serial: UInt64, place: WaitingList.Place)
        case alone
    }

    mutating func join(_ key: CacheKey, _ waiter: (any CacheWaiter)?, now: BootInstant) -> Part {
        if let serial = self.leads[key]?.serial {
            guard let waiter, let place = self.leads[key]?.waiters?.add(waiter) else { return .alone }
            return .waits(serial: serial, place: place)
        }
        self.lastSerial += 1
        // What comes may be of another kind than the last one, so it may be stored. But nobody waits for it.
        let waiters = self.uncollapsible.contains(key, now: now) ? nil : WaitingList()
        self.leads[key] = Lead(serial: self.lastSerial, waiters: waiters)
        return .leads(serial: self.lastSerial)
    }

    /// The waiter, if it still waits.
    mutating func leave(_ key: CacheKey, serial: UInt64, place: WaitingList.Place) -> (any CacheWaiter)? {
        guard self.leads[key]?.serial == serial else { return nil }
        return self.leads[key]?.waiters?.remove(place)
    }

    /// Has nobody wait for a request any more. Returns those who have waited until now.
    ///
    /// - Parameter uncollapsibleUntil: until when nobody waits for another request with this key.
    mutating func release(
        _ key: CacheKey,
        serial: UInt64,
        uncollapsibleUntil: BootInstant? = nil
    ) -> WaitingList? {
        guard self.leads[key]?.serial == serial else { return nil }
        if let uncollapsibleUntil { self.uncollapsible.insert(key, until: uncollapsibleUntil) }
        return self.leads[key]?.waiters.take()
    }

    /// Ends a request. Returns those who waited for it, or `nil` if it was detached before.
    ///
    /// - Parameter uncollapsibleUntil: until when nobody waits for another request with this key.
    mutating func end(_ key: CacheKey, serial: UInt64, uncollapsibleUntil: BootInstant? = nil) -> WaitingList? {
        guard self.leads[key]?.serial == serial else { return nil }
        if let uncollapsibleUntil { self.uncollapsible.insert(key, until: uncollapsibleUntil) }
        return self.leads.removeValue(forKey: key).map { $0.waiters ?? WaitingList() }
    }

    /// Detaches the requests for a resource. Returns those who waited for each.
    mutating func detach(resourceOf key: CacheKey) -> [WaitingList] {
        let chosen = self.leads.keys.filter { $0.hasSameResource(as: key) }
        return chosen.compactMap { self.leads.removeValue(forKey: $0)?.waiters }
    }

    var underWay: [UnderWay] { self.leads.map { UnderWay(key: $0.key, serial: $0.value.serial) } }
}

/// Those who wait for one request. Each leaves in one step.
struct WaitingList: Sendable {
    struct Place: Sendable {
        fileprivate let index: Int
        fileprivate let serial: UInt64
    }

    private var waiters: ContiguousArray<(serial: UInt64, waiter: (any CacheWaiter)?)> = []
    private var vacant: [Int] = []
    private var lastSerial: UInt64 = 0

    mutating func add(_ waiter: any CacheWaiter) -> Place {
        self.lastSerial += 1
        if let index = self.vacant.popLast() {
            self.waiters[index] = (self.lastSerial, waiter)
            return Place(index: index, serial: self.lastSerial)
        }
        self.waiters.append((self.lastSerial, waiter))
        return Place(index: self.waiters.count - 1, serial: self.lastSerial)
    }

    mutating func remove(_ place: Place) -> (any CacheWaiter)? {
        guard self.waiters[place.index].serial == place.serial else { return nil }
        guard let waiter = self.waiters[place.index].waiter.take() else { return nil }
        self.vacant.append(place.index)
        return waiter
    }

    func settle(_ outcome: CollapseOutcome) {
        for (_, waiter) in self.waiters { waiter?.settled(outcome) }
    }
}

/// The keys whose responses were streaming or can't be stored. Of two that fall on the same place, the later one stays.
private struct UncollapsibleKeys {
    private static let places = 1_024

    private var keys: [(hash: Int, until: BootInstant)] = []

    mutating func insert(_ key: CacheKey, until: BootInstant) {
        if self.keys.isEmpty { self.keys = Array(repeating: (0, .distantPast), count: Self.places) }
        self.keys[key.hash & (Self.places - 1)] = (key.hash, until)
    }

    func contains(_ key: CacheKey, now: BootInstant) -> Bool {
        guard !self.keys.isEmpty else { return false }
        let (hash, until) = self.keys[key.hash & (Self.places - 1)]
        return hash == key.hash && now < until
    }
}
