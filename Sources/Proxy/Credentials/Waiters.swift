package import TokenModel

/// What requests wait for: a credential for a slot's account, other than the one that was refused. Those who wait for the same
/// share one question.
package struct WaiterKey: Hashable, Sendable {
    package var slot: Int
    package var refused: TokenVersion?

    package init(slot: Int, refused: TokenVersion?) {
        self.slot = slot
        self.refused = refused
    }
}

/// Who waits for credentials on one event loop, in the order they came.
///
/// A waiter that has left is not looked for, but passed over when the answer comes; where those are the most, they are
/// cleared away. So the room holds no more than twice those who wait, and leaving costs a few steps on the average.
package struct Waiters<Waiter> {
    /// Fewer that have left are not worth a look.
    private static var tolerated: Int { 16 }

    private struct Group {
        var waiters: [Waiter] = []
        var left = 0
    }

    private var benches: [WaiterKey: Group] = [:]

    package init() {}

    /// How many are held here for `key`, with those who have left.
    package func held(_ key: WaiterKey) -> Int { self.benches[key]?.waiters.count ?? 0 }

    /// Asks for `key` though nobody waits for it.
    ///
    /// - Returns: whether the question is new.
    package mutating func ask(_ key: WaiterKey) -> Bool {
        guard self.benches[key] == nil else { return false }
        self.benches[key] = Group()
        return true
    }

    /// Lets `waiter` wait for the answer.
    ///
    /// - Returns: whether the question is new.
    package mutating func enter(_ waiter: Waiter, _ key: WaiterKey) -> Bool {
        let isNew = self.ask(key)
        self.benches[key]?.waiters.append(waiter)
        return isNew
    }

    /// One of those who wait for `key` has left.
    ///
    /// - Parameter stays: tells of a waiter whether it has not.
    package mutating func left(_ key: WaiterKey, stays: (Waiter) -> Bool) {
        guard var bench = self.benches.removeValue(forKey: key) else { return }
        bench.left += 1
        if bench.left > Self.tolerated, bench.left * 2 > bench.waiters.count {
            bench.waiters.removeAll { !stays($0) }
            bench.left = 0
        }
        self.benches[key] = bench
    }

    /// Forgets those who wait for any of `keys`, who are told otherwise, and that it was asked: whoever comes asks anew.
    package mutating func forget(_ keys: (WaiterKey) -> Bool) {
        self.benches = self.benches.filter { !keys($0.key) }
    }

    /// The answer is there: takes all who waited for it, with those who have left.
    package mutating func empty(_ key: WaiterKey) -> [Waiter] {
        self.benches.removeValue(forKey: key)?.waiters ?? []
    }
}
