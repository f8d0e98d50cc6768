internal import Synchronization

/// The error of a wait that timed out.
package struct MissedDeadline: Error, CustomStringConvertible {
    package let description: String
}

/// Runs `body`, and throws ``MissedDeadline`` if it has not returned within `limit`. `body` is then cancelled, and not waited
/// for.
///
/// - Parameter limit: far more than a slow machine needs, so that only a broken test reaches it.
package func within<Value: Sendable>(
    _ what: String,
    limit: Duration = .seconds(60),
    _ body: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    let (outcomes, outcome) = AsyncStream<Result<Value, any Error>>.makeStream()
    // No children: this task would wait for a body that ignores its cancellation.
    let tasks = [
        Task {
            do { outcome.yield(.success(try await body())) } catch { outcome.yield(.failure(error)) }
        },
        Task {
            guard (try? await Task.sleep(for: limit)) != nil else { return }
            outcome.yield(.failure(MissedDeadline(description: "waited \(limit) for \(what)")))
        },
    ]
    defer { for task in tasks { task.cancel() } }
    for await outcome in outcomes { return try outcome.get() }
    throw CancellationError()
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

/// Calls `body` with more and more time, until that was enough: what a limit of the product is for may be too slow on a busy
/// machine.
///
/// - Parameter body: returns what it has seen; `nil` if that shows nothing because the machine was too slow.
package func withEnoughTime<Value>(_ what: String, _ body: (Duration) async throws -> Value?) async throws -> Value {
    for time in [100, 1_000, 10_000] {
        if let value = try await body(.milliseconds(time)) { return value }
    }
    throw MissedDeadline(description: "ten seconds were not enough for \(what)")
}

/// A counter for use from any task.
package final class Tally: Sendable {
    private let number = Mutex(0)

    package init() {}

    package var count: Int { self.number.withLock { $0 } }

    package func add() { self.number.withLock { $0 += 1 } }
}
