internal import Synchronization
internal import TokenStorage

/// The first answer to one operation; later ones are dropped.
final class Reply<Value: Sendable>: Sendable {
    private let continuation: Mutex<CheckedContinuation<Result<Value, StoreError>, Never>?>

    init(to continuation: CheckedContinuation<Result<Value, StoreError>, Never>) {
        self.continuation = Mutex(continuation)
    }

    /// Whether no answer was given yet.
    var isAwaited: Bool { self.continuation.withLock { $0 != nil } }

    func give(_ result: Result<Value, StoreError>) {
        let waiting = self.continuation.withLock { continuation in
            defer { continuation = nil }
            return continuation
        }
        waiting?.resume(returning: result)
    }
}
