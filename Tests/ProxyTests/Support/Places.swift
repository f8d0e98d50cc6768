import Synchronization

/// A limit on how many run at a time. The others wait their turn.
final class Places: Sendable {
    private struct State {
        var free: Int
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Mutex<State>

    init(_ count: Int) {
        self.state = Mutex(State(free: count))
    }

    func enter() async {
        await withCheckedContinuation { continuation in
            let isIn = self.state.withLock { state in
                guard state.free == 0 else {
                    state.free -= 1
                    return true
                }
                state.waiting.append(continuation)
                return false
            }
            if isIn { continuation.resume() }
        }
    }

    func leave() {
        let next = self.state.withLock { state in
            guard state.waiting.isEmpty else { return Optional(state.waiting.removeFirst()) }
            state.free += 1
            return nil
        }
        next?.resume()
    }
}
