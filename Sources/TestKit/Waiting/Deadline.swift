internal import Synchronization
internal import Testing

/// The error of a wait that timed out.
package struct MissedDeadline: Error, CustomStringConvertible {
    package let description: String
}

/// Runs `body`, and throws ``MissedDeadline`` if it has not returned within `limit`. `body` is then cancelled.
///
/// - Parameter limit: far more than a slow machine needs, so that only a broken test reaches it.
package func within<Value: Sendable>(
    _ what: String,
    limit: Duration = .seconds(60),
    _ body: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    try await withThrowingTaskGroup(of: Value.self) { group in
        group.addTask { try await body() }
        group.addTask {
            try await Task.sleep(for: limit)
            throw MissedDeadline(description: "waited \(limit) for \(what)")
        }
        defer { group.cancelAll() }
        return try #require(await group.next())
    }
}

/// Waits until `condition` holds.
package func eventually(
    _ what: String,
    limit: Duration = .seconds(60),
    _ condition: @escaping @Sendable () async throws -> Bool
) async throws {
    try await within(what, limit: limit) {
        while try await !condition() { try await Task.sleep(for: .milliseconds(5)) }
    }
}

/// A counter for use from any task.
package final class Tally: Sendable {
    private let number = Mutex(0)

    package init() {}

    package var count: Int { self.number.withLock { $0 } }

    package func add() { self.number.withLock { $0 += 1 } }
}
