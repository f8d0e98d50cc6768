package import TokenModel

/// What requests wait for: a pass for a slot's account, other than the one that was refused. Those who wait for the same
/// share one question.
package struct WaitKey: Hashable, Sendable {
    package var slot: Int
    package var refused: TokenMark?

    package init(slot: Int, refused: TokenMark?) {
        self.slot = slot
        self.refused = refused
    }
}

/// Who waits for passes on one event loop, in the order they came.
///
/// A waiter that has left is not looked for, but passed over when the answer comes; where those are the most, they are
/// cleared away. So the room holds no more than twice those who wait, and leaving costs a few steps on the average.
package struct WaitingRoom<Waiter> {
    /// Fewer that have left are not worth a look.
    private static var tolerated: Int { 16 }

    private struct Bench {
        var waiters: [Waiter] = []
        var left = 0
    }

    private var benches: [WaitKey: Bench] = [:]

    package init() {}

    /// How many are held here for `key`, with those who have left.
    package func held(_ key: WaitKey) -> Int { self.benches[key]?.waiters.count ?? 0 }

    /// Asks for `key` though nobody waits for it.
    ///
    /// - Returns: whether the question is new.
    package mutating func ask(_ key: WaitKey) -> Bool {
        guard self.benches[key] == nil else { return false }
        self.benches[key] = Bench()
        return true
    }

    /// Lets `waiter` wait for the answer.
    ///
    /// - Returns: whether the question is new.
    package mutating func enter(_ waiter: Waiter, _ key: WaitKey) -> Bool {
        let isNew = self.ask(key)
        self.benches[key]?.waiters.append(waiter)
        return isNew
    }

    /// One of those who wait for `key` has left.
    ///
    /// - Parameter stays: tells of a waiter whether it has not.
    package mutating func left(_ key: WaitKey, stays: (Waiter) -> Bool) {
        guard var bench = self.benches.removeValue(forKey: key) else { return }
        bench.left += 1
        if bench.left > Self.tolerated, bench.left * 2 > bench.waiters.count {
            bench.waiters.removeAll { !stays($0) }
            bench.left = 0
        }
        self.benches[key] = bench
    }

    /// Forgets those who wait for any of `keys`, who are told otherwise, and that it was asked: whoever comes asks anew.
    package mutating func forget(_ keys: (WaitKey) -> Bool) {
        self.benches = self.benches.filter { !keys($0.key) }
    }

    /// The answer is there: takes all who waited for it, with those who have left.
    package mutating func empty(_ key: WaitKey) -> [Waiter] {
        self.benches.removeValue(forKey: key)?.waiters ?? []
    }
}
