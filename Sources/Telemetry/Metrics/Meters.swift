internal import Synchronization
internal import TokenModel

/// Counts the events that operators are told of. For rare events, because it uses a lock.
package final class EventMeter: Sendable {
    private let counts: Mutex<[String: UInt64]>

    /// - Parameter names: the names of the events; others are not counted.
    package init(_ names: [String]) {
        self.counts = Mutex(Dictionary(names.map { ($0, 0) }) { first, _ in first })
    }

    /// Counts one event.
    package func add(_ name: String) {
        self.counts.withLock { counts in
            guard let count = counts[name] else { return }
            counts[name] = count + 1
        }
    }

    /// Sorted by name.
    package var events: [(name: String, count: UInt64)] {
        self.counts.withLock { $0 }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }
}

/// Measures how long operations of a few kinds take. For rare operations, because it uses a lock.
package final class DurationMeter: Sendable {
    private let counts: Mutex<[String: DurationCounts]>

    /// - Parameter names: the names of the operations; others are not counted.
    package init(_ names: [String]) {
        self.counts = Mutex(Dictionary(names.map { ($0, DurationCounts()) }) { first, _ in first })
    }

    /// Counts an operation that has ended.
    package func add(_ name: String, took time: Duration) {
        self.counts.withLock { $0[name]?.add(nanoseconds: time.clampedNanoseconds) }
    }

    /// Sorted by name.
    package var operations: [(operation: String, durations: DurationCounts)] {
        self.counts.withLock { $0 }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }
}
