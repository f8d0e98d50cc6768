internal import Synchronization

/// Lets one task through at a time, in the order in which they came. What one does in there is done before the next
/// begins, whatever it waits for.
final class SerialQueue: Sendable {
    private struct State {
        var isTaken = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    func pass<Result>(_ body: () async -> Result) async -> Result {
        await withCheckedContinuation { continuation in
            let isFree = self.state.withLock { state in
                if state.isTaken { state.waiting.append(continuation) }
                defer { state.isTaken = true }
                return !state.isTaken
            }
            if isFree { continuation.resume() }
        }
        let result = await body()
        let next: CheckedContinuation<Void, Never>? = self.state.withLock { state in
            state.isTaken = !state.waiting.isEmpty
            return state.waiting.isEmpty ? nil : state.waiting.removeFirst()
        }
        next?.resume()
        return result
    }
}
