import NIOCore

/// The error of a test that has waited for bytes in vain.
struct TimedOut: Error, CustomStringConvertible {
    let description: String
}

/// The time that anything may take on a busy machine. Only a failing test waits this long.
let patience = Duration.seconds(60)

extension TimeAmount {
    init(_ duration: Duration) {
        self = .nanoseconds(
            duration.components.seconds * 1_000_000_000 + duration.components.attoseconds / 1_000_000_000
        )
    }
}
