import Synchronization

/// Places, or bytes, that all event loops share, and that there are only so many of.
package final class SharedLimit: Sendable {
    private let mostTaken: Atomic<Int>
    private let count = Atomic<Int>(0)

    package init(_ limit: Int) {
        self.mostTaken = Atomic(limit)
    }

    /// How many there are. Lowered below what is taken, it takes nothing from anyone, and lets nobody in until enough
    /// have left.
    package var limit: Int {
        get { self.mostTaken.load(ordering: .relaxed) }
        set { self.mostTaken.store(newValue, ordering: .relaxed) }
    }

    /// Places that are taken now.
    package var taken: Int { self.count.load(ordering: .relaxed) }

    /// There is no place left.
    package var isFull: Bool { self.taken >= self.limit }

    /// More are taken than there are.
    package var isOver: Bool { self.taken > self.limit }

    /// Takes places, if there are so many.
    package func enter(_ places: Int = 1) -> Bool {
        guard self.count.add(places, ordering: .relaxed).newValue <= self.limit else {
            self.leave(places)
            return false
        }
        return true
    }

    /// Takes places, be there so many or not: for what can't be refused any more.
    package func take(_ places: Int = 1) {
        self.count.add(places, ordering: .relaxed)
    }

    /// Gives places back.
    package func leave(_ places: Int = 1) {
        self.count.subtract(places, ordering: .relaxed)
    }
}
