import NIOCore

/// The error of a test that has waited for something in vain.
struct TimedOut: Error, CustomStringConvertible {
    let description: String
}

/// The time that anything may take on a busy machine. Only a failing test waits this long.
let patience = Duration.seconds(30)

/// Waits until `condition` holds.
func eventually(
    _ what: String,
    within time: Duration = patience,
    _ condition: () async throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + time
    while !(try await condition()) {
        guard ContinuousClock.now < deadline else { throw TimedOut(description: "not in time: \(what)") }
        try await Task.sleep(for: .milliseconds(1))
    }
}

extension TimeAmount {
    init(_ duration: Duration) {
        self = .nanoseconds(
            duration.components.seconds * 1_000_000_000 + duration.components.attoseconds / 1_000_000_000
        )
    }
}
