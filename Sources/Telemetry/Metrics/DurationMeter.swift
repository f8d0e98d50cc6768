internal import Synchronization
internal import TokenModel

/// Counts how long operations of a few kinds take. For what is rare enough that a lock does no harm.
package final class DurationMeter: Sendable {
    private let counts: Mutex<[String: DurationCounts]>

    /// - Parameter names: of the operations; others are not counted.
    package init(_ names: [String]) {
        self.counts = Mutex(Dictionary(names.map { ($0, DurationCounts()) }) { first, _ in first })
    }

    /// Counts an operation that has ended.
    package func add(_ name: String, took time: Duration) {
        self.counts.withLock { $0[name]?.add(nanoseconds: time.clampedNanoseconds) }
    }

    /// By the operations' names.
    package var operations: [(operation: String, durations: DurationCounts)] {
        self.counts.withLock { $0 }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }
}
