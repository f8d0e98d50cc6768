internal import Synchronization

/// Wakes a waiting task. A ring without a waiting task is kept for the next call of ``wait()``.
final class Bell: Sendable {
    private enum State {
        case silent
        case rung
        case awaited(CheckedContinuation<Void, Never>)
    }

    private let state = Mutex(State.silent)

    func ring() {
        let waiter: CheckedContinuation<Void, Never>? = self.state.withLock { state in
            guard case .awaited(let waiter) = state else {
                state = .rung
                return nil
            }
            state = .silent
            return waiter
        }
        waiter?.resume()
    }

    /// Returns when the bell rings, has rung since the last call, or the task is cancelled. Only one task may wait at a
    /// time.
    func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver: Bool = self.state.withLock { state in
                    if case .rung = state {
                        state = .silent
                        return true
                    }
                    if Task.isCancelled { return true }
                    state = .awaited(continuation)
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            let waiter: CheckedContinuation<Void, Never>? = self.state.withLock { state in
                guard case .awaited(let waiter) = state else { return nil }
                state = .silent
                return waiter
            }
            waiter?.resume()
        }
    }
}
