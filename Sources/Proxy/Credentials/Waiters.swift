package import TokenModel

/// What requests wait for: a credential for a slot's account, other than the refused one. Requests that wait for the
/// same share one query.
package struct WaiterKey: Hashable, Sendable {
    package var slot: Int
    package var refused: TokenVersion?

    package init(slot: Int, refused: TokenVersion?) {
        self.slot = slot
        self.refused = refused
    }
}

/// The waiters for credentials on one event loop, in order of arrival.
///
/// A waiter that has left stays in the list, and is skipped when the credential arrives. When such entries are the
/// majority, they are removed. So the list holds at most about twice the entries it needs, and leaving takes a few
/// steps on average.
package struct Waiters<Waiter> {
    /// Up to this many entries of waiters that have left are not worth removing.
    private static var tolerated: Int { 16 }

    private struct Group {
        var waiters: [Waiter] = []
        var left = 0
    }

    private var benches: [WaiterKey: Group] = [:]

    package init() {}

    /// The number of waiters that are held for `key`, with those that have left.
    package func held(_ key: WaiterKey) -> Int { self.benches[key]?.waiters.count ?? 0 }

    /// Starts a query for `key` although nobody waits for it.
    ///
    /// - Returns: whether the query is new.
    package mutating func ask(_ key: WaiterKey) -> Bool {
        guard self.benches[key] == nil else { return false }
        self.benches[key] = Group()
        return true
    }

    /// Adds `waiter` to those that wait for `key`.
    ///
    /// - Returns: whether the query is new.
    package mutating func enter(_ waiter: Waiter, _ key: WaiterKey) -> Bool {
        let isNew = self.ask(key)
        self.benches[key]?.waiters.append(waiter)
        return isNew
    }

    /// Notes that one of the waiters for `key` has left.
    ///
    /// - Parameter stays: whether a waiter still waits.
    package mutating func left(_ key: WaiterKey, stays: (Waiter) -> Bool) {
        guard var bench = self.benches.removeValue(forKey: key) else { return }
        bench.left += 1
        if bench.left > Self.tolerated, bench.left * 2 > bench.waiters.count {
            bench.waiters.removeAll { !stays($0) }
            bench.left = 0
        }
        self.benches[key] = bench
    }

    /// Forgets the queries for `keys`, and their waiters, which get their result elsewhere. The next waiter starts a
    /// new query.
    package mutating func forget(_ keys: (WaiterKey) -> Bool) {
        self.benches = self.benches.filter { !keys($0.key) }
    }

    /// Removes the query for `key`, whose result has come, and returns its waiters, with those that have left.
    package mutating func empty(_ key: WaiterKey) -> [Waiter] {
        self.benches.removeValue(forKey: key)?.waiters ?? []
    }
}
