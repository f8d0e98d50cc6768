internal import Synchronization

/// Counts what operators are told of. For what is rare enough that a lock does no harm.
package final class EventMeter: Sendable {
    private let counts: Mutex<[String: UInt64]>

    /// - Parameter names: of the events; others are not counted.
    package init(_ names: [String]) {
        self.counts = Mutex(Dictionary(names.map { ($0, 0) }) { first, _ in first })
    }

    /// Counts one more.
    package func add(_ name: String) {
        self.counts.withLock { counts in
            guard let count = counts[name] else { return }
            counts[name] = count + 1
        }
    }

    /// By the events' names.
    package var events: [(name: String, count: UInt64)] {
        self.counts.withLock { $0 }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }
}
