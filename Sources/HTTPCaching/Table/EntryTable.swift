internal import HTTPWire

/// The stored responses of a shard: found by key, listed by resource, and queued for eviction.
///
/// Everything is numbered, and each number's place is in some page, so that no operation moves or frees more than a
/// few items. What goes out is handed to the calling code, which drops it when it has no lock.
struct EntryTable: ~Copyable {
    /// A key has at most this many responses, for different requests (RFC 9111 §4.1).
    static let mostVariants = 16
    /// What an entry costs in this table, beside its response and its key.
    private static let overhead = 224
    /// How many items one call looks at.
    private static let stepsOfCall = 128

    private struct Entry {
        var stored: StoredResponse?
        var key: CacheKey
        /// What it holds of the budget, without its body.
        var charge: Int
        /// When it was stored or updated, in the order of these events.
        var stamp: UInt64
        var resource: Int32
        var newerOfResource: Int32
        var olderOfResource: Int32
    }

    /// What left the table. Its memory, and what it holds of the budget, are the calling code's now.
    struct Removed: Sendable {
        let stored: StoredResponse
        var key: CacheKey
        let charge: Int

        var size: Int { self.charge + self.stored.body.charge }
    }

    private static let none: Int32 = -1

    private var entries = PagedArray<Entry>()
    private var vacant: [Int32] = []
    private var byKey = HashIndex()
    /// The newest entry of each resource.
    private var resources = PagedArray<Int32>()
    private var vacantResources: [Int32] = []
    private var byResource = HashIndex()
    private var queue = EvictionQueue()
    private var lastStamp: UInt64 = 0

    var count: Int { self.queue.count }
    /// With their bodies.
    var bytes: Int { self.queue.bytes }

    /// What the budget pays for `stored`, apart from its body.
    static func charge(for stored: StoredResponse, _ key: CacheKey) -> Int { self.charge(headSize: stored.size, key) }

    /// - Parameter headSize: what the response takes without its key and body.
    static func charge(headSize: Int, _ key: CacheKey) -> Int { headSize + key.bytes.count + Self.overhead }

    // MARK: - Looking up

    mutating func find(_ key: CacheKey, for owner: CacheOwner, matching request: RequestHead) -> FoundResponse {
        var found = FoundResponse(stored: nil, hasOtherVariants: false, stamp: 0)
        var chosen: (number: Int, stamp: UInt64)?
        var next = self.byKey.first(key.hash)
        while let number = next {
            next = self.byKey.next(after: number)
            guard self.entries[number].key == key, let stored = self.entries[number].stored else { continue }
            let stamp = self.entries[number].stamp
            found.stamp = max(found.stamp, stamp)
            guard stored.owner.grant == owner.grant, stored.owner.scopes == owner.scopes else { continue }
            found.hasOtherVariants = true
            guard stamp > chosen?.stamp ?? 0, stored.vary.matches(request) else { continue }
            chosen = (number, stamp)
            found.stored = stored
        }
        if let chosen {
            self.queue.use(chosen.number)
            found.hasOtherVariants = false
        }
        return found
    }

    /// The latest change to what is stored for `key`, as ``find(_:for:matching:)`` reports it.
    func stamp(of key: CacheKey) -> UInt64 {
        var stamp: UInt64 = 0
        self.forEach(of: key) { stamp = max(stamp, self.entries[$0].stamp) }
        return stamp
    }

    private func forEach(of key: CacheKey, _ body: (Int) -> Void) {
        var next = self.byKey.first(key.hash)
        while let number = next {
            if self.entries[number].key == key { body(number) }
            next = self.byKey.next(after: number)
        }
    }

    private func number(of stored: StoredResponse, at key: CacheKey) -> Int? {
        var found: Int?
        self.forEach(of: key) { if self.entries[$0].stored === stored { found = $0 } }
        return found
    }

    // MARK: - Changing

    /// Stores a response in place of the one for the same requests.
    ///
    /// - Parameter charge: ``charge(for:_:)``, taken from the budget.
    mutating func insert(_ stored: StoredResponse, at key: CacheKey, charge: Int) -> Removed? {
        var count = 0
        var same: Int?
        var oldest: Int?
        self.forEach(of: key) { number in
            count += 1
            if self.entries[number].stored?.vary == stored.vary { same = number }
            if oldest.map({ self.entries[number].stamp < self.entries[$0].stamp }) ?? true { oldest = number }
        }
        let removed = (same ?? (count >= Self.mostVariants ? oldest : nil)).map { self.remove($0) }
        self.lastStamp += 1
        let entry = Entry(
            stored: stored,
            key: key,
            charge: charge,
            stamp: self.lastStamp,
            resource: Self.none,
            newerOfResource: Self.none,
            olderOfResource: Self.none
        )
        var number = self.entries.count
        if let vacant = self.vacant.popLast() {
            number = Int(vacant)
            self.entries[number] = entry
        } else {
            self.entries.append(entry)
        }
        self.byKey.insert(number, hash: key.hash)
        self.list(number)
        self.queue.insert(number, size: charge + stored.body.charge, hash: key.hash)
        return removed
    }

    /// Puts an updated response in the place of `old`. Returns `nil` if `old` is not stored any more.
    mutating func replace(
        _ old: StoredResponse,
        by new: StoredResponse,
        at key: CacheKey,
        charge: Int
    ) -> Removed? {
        guard let number = self.number(of: old, at: key) else { return nil }
        let removed = Removed(stored: old, key: key, charge: self.entries[number].charge)
        self.lastStamp += 1
        self.entries[number].stored = new
        self.entries[number].charge = charge
        self.entries[number].stamp = self.lastStamp
        self.queue.resize(number, to: charge + new.body.charge)
        return removed
    }

    mutating func remove(_ stored: StoredResponse, at key: CacheKey) -> Removed? {
        self.number(of: stored, at: key).map { self.remove($0) }
    }

    /// Takes out some responses of a resource. None is left if there are none in the result.
    mutating func removeSome(ofResource key: CacheKey) -> [Removed] {
        guard let resource = self.resource(of: key) else { return [] }
        var removed: [Removed] = []
        var next = self.resources[resource]
        while next != Self.none, removed.count < Self.stepsOfCall {
            let number = Int(next)
            next = self.entries[number].olderOfResource
            removed.append(self.remove(number))
        }
        return removed
    }

    /// Makes room: takes out responses of `bytes` bytes altogether, or as many as one call may.
    mutating func evict(_ bytes: Int) -> [Removed] {
        var removed: [Removed] = []
        var freed = 0
        var steps = Self.stepsOfCall
        while freed < bytes, let number = self.queue.evict(&steps) {
            let entry = self.remove(number, isQueued: false)
            freed += entry.size
            removed.append(entry)
        }
        return removed
    }

    private mutating func remove(_ number: Int, isQueued: Bool = true) -> Removed {
        if isQueued { self.queue.remove(number) }
        self.byKey.remove(number)
        self.unlist(number)
        self.vacant.append(Int32(number))
        let key = self.entries[number].key
        guard let stored = self.entries[number].stored.take() else {
            preconditionFailure("a number in the queue has no response")
        }
        self.entries[number].key = CacheKey.empty
        return Removed(stored: stored, key: key, charge: self.entries[number].charge)
    }

    // MARK: - Walking

    /// An entry that a walk has passed.
    struct Visited: Sendable {
        fileprivate let number: Int
        let key: CacheKey
        let owner: CacheOwner
    }

    /// The entries from `position` on, as many as one call may look at; moves `position` behind them. Returns `nil` at
    /// the end.
    func visit(_ position: inout Int) -> [Visited]? {
        guard position < self.entries.count else { return nil }
        let end = min(position + Self.stepsOfCall, self.entries.count)
        defer { position = end }
        return (position..<end).compactMap { number in
            let entry = self.entries[number]
            return entry.stored.map { Visited(number: number, key: entry.key, owner: $0.owner) }
        }
    }

    /// Takes out what is still there of the visited entries, updated or not.
    mutating func remove(_ visited: [Visited]) -> [Removed] {
        visited.compactMap { visited in
            let isThere =
                self.entries[visited.number].stored != nil && self.entries[visited.number].key == visited.key
            return isThere ? self.remove(visited.number) : nil
        }
    }

    // MARK: - Resources

    private func resource(of key: CacheKey) -> Int? {
        var next = self.byResource.first(key.resourceHash)
        while let resource = next {
            if self.entries[Int(self.resources[resource])].key.hasSameResource(as: key) { return resource }
            next = self.byResource.next(after: resource)
        }
        return nil
    }

    private mutating func list(_ number: Int) {
        let key = self.entries[number].key
        guard let resource = self.resource(of: key) else {
            var resource = self.resources.count
            if let vacant = self.vacantResources.popLast() {
                resource = Int(vacant)
                self.resources[resource] = Int32(number)
            } else {
                self.resources.append(Int32(number))
            }
            self.entries[number].resource = Int32(resource)
            self.byResource.insert(resource, hash: key.resourceHash)
            return
        }
        let older = self.resources[resource]
        self.entries[number].resource = Int32(resource)
        self.entries[number].olderOfResource = older
        self.entries[Int(older)].newerOfResource = Int32(number)
        self.resources[resource] = Int32(number)
    }

    private mutating func unlist(_ number: Int) {
        let (newer, older) = (self.entries[number].newerOfResource, self.entries[number].olderOfResource)
        let resource = self.entries[number].resource
        if older != Self.none { self.entries[Int(older)].newerOfResource = newer }
        if newer != Self.none { self.entries[Int(newer)].olderOfResource = older }
        guard newer == Self.none else { return }
        self.resources[Int(resource)] = older
        guard older == Self.none else { return }
        self.byResource.remove(Int(resource))
        self.vacantResources.append(resource)
    }
}

/// What a cache has for a request.
package struct FoundResponse: Sendable {
    /// The response for the request, fresh or stale.
    package fileprivate(set) var stored: StoredResponse?
    /// Whether there are responses for the key, but none whose `Vary` matches the request.
    package fileprivate(set) var hasOtherVariants: Bool
    /// Tells whether anything was stored for the key since.
    fileprivate(set) var stamp: UInt64
}

extension CacheKey {
    fileprivate static let empty = CacheKey([], resourceLength: 0)
}
