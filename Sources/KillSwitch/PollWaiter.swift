internal import Synchronization
internal import TokenStorage

/// Who waits for a poll, and is answered once: by the poll, or by whoever waits for it no longer.
final class PollWaiter: Sendable {
    private typealias Answer = Result<Void, StoreError>

    private enum State {
        case asked
        case waits(CheckedContinuation<Answer, Never>)
        case answered(Answer)
    }

    private let state = Mutex(State.asked)

    /// Comes back with the first answer.
    func wait() async throws(StoreError) {
        let answer: Answer = await withCheckedContinuation { continuation in
            let early: Answer? = self.state.withLock { state in
                if case .answered(let answer) = state { return answer }
                state = .waits(continuation)
                return nil
            }
            if let early { continuation.resume(returning: early) }
        }
        try answer.get()
    }

    func answer(_ answer: Result<Void, StoreError>) {
        let continuation: CheckedContinuation<Answer, Never>? = self.state.withLock { state in
            switch state {
            case .asked:
                state = .answered(answer)
                return nil
            case .waits(let continuation):
                state = .answered(answer)
                return continuation
            case .answered:
                return nil
            }
        }
        continuation?.resume(returning: answer)
    }
}
