internal import Synchronization

/// A part of a cache, under a lock of its own: the resources whose hashes fall on it.
final class CacheShard: Sendable {
    struct State: ~Copyable {
        var entries = EntryTable()
        var collapses = Collapses()
    }

    private let state = Mutex(State())
    private let size = Atomic(0)

    /// What its responses use, read without the lock.
    var bytes: Int { self.size.load(ordering: .relaxed) }

    /// Runs `body` under the lock. What `body` takes out must be in its result: it is freed after the lock is released.
    func withState<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        self.state.withLock { state in
            let result = body(&state)
            self.size.store(state.entries.bytes, ordering: .relaxed)
            return result
        }
    }
}
