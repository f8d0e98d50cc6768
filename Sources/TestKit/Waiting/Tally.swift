internal import Synchronization

/// A counter for use from any task.
package final class Tally: Sendable {
    private let number = Mutex(0)

    package init() {}

    package var count: Int { self.number.withLock { $0 } }

    package func add() { self.number.withLock { $0 += 1 } }
}
