internal import Synchronization

/// Counts the bytes that a cache uses, and never lets them exceed the limit.
package final class MemoryBudget: Sendable {
    private let taken = Atomic(0)
    private let bound: Atomic<Int>

    package init(limit: Int) { self.bound = Atomic(limit) }

    package var used: Int { self.taken.load(ordering: .relaxed) }

    /// May be set below what is used: nothing can be taken then.
    var limit: Int {
        get { self.bound.load(ordering: .relaxed) }
        set { self.bound.store(newValue, ordering: .relaxed) }
    }

    /// Takes `bytes` if the limit allows it.
    package func take(_ bytes: Int) -> Bool {
        var used = self.used
        while used + bytes <= self.limit {
            let (exchanged, original) = self.taken.weakCompareExchange(
                expected: used,
                desired: used + bytes,
                ordering: .relaxed
            )
            if exchanged { return true }
            used = original
        }
        return false
    }

    /// Gives back bytes whose memory is free again.
    func give(_ bytes: Int) { self.taken.subtract(bytes, ordering: .relaxed) }
}
