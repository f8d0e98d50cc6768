import Synchronization

/// How many requests may wait for passes, over all event loops.
package final class WaiterLimit: Sendable {
    private let limit: Int
    private let count = Atomic<Int>(0)

    package init(_ limit: Int) {
        self.limit = limit
    }

    /// Places that are taken now.
    package var taken: Int { self.count.load(ordering: .relaxed) }

    /// Takes a place, if there is one.
    package func enter() -> Bool {
        guard self.count.add(1, ordering: .relaxed).newValue <= self.limit else {
            self.count.subtract(1, ordering: .relaxed)
            return false
        }
        return true
    }

    /// Gives places back.
    package func leave(_ places: Int) {
        self.count.subtract(places, ordering: .relaxed)
    }
}
