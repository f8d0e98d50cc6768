internal import Synchronization
internal import TokenStorage

// How the kill switch's tasks wait for each other: to be woken, for their turn, or for a poll.

/// Wakes one task that listens. Several rings before the task listens again count as one.
struct Bell: Sendable {
    let rings: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init() { (self.rings, self.continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

    func ring() { self.continuation.yield() }

    /// Ends the listener's stream.
    func finish() { self.continuation.finish() }
}

/// Runs one body at a time, in the order of the calls. A body runs to its end before the next begins, even if it
/// suspends.
final class SerialQueue: Sendable {
    private struct State {
        var isTaken = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    func run<Result>(_ body: () async -> Result) async -> Result {
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

/// A task that waits for a poll. It is resumed once: with the poll's result, or when its own wait ends.
final class PollWaiter: Sendable {
    private typealias Answer = Result<Void, StoreError>

    private enum State {
        case asked
        case waits(CheckedContinuation<Answer, Never>)
        case answered(Answer)
    }

    private let state = Mutex(State.asked)

    /// Returns with the first answer.
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

    func resume(_ answer: Result<Void, StoreError>) {
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

extension Collection where Element: Sendable {
    /// Calls `read` for each element, at most `limit` at a time, and hands each result to `found` as it comes, in no order.
    ///
    /// - Throws: the first error of a read. No further read begins after it.
    func readEach<Found: Sendable>(
        atOnce limit: Int = 16,
        _ read: @escaping @Sendable (Element) async throws(StoreError) -> Found,
        found take: (Element, Found) -> Void
    ) async throws(StoreError) {
        let result: Result<Void, StoreError> = await withTaskGroup(of: (Element, Result<Found, StoreError>).self) {
            reads in
            @Sendable func result(_ element: Element) async -> (Element, Result<Found, StoreError>) {
                do throws(StoreError) { return (element, .success(try await read(element))) } catch {
                    return (element, .failure(error))
                }
            }
            var rest = self.makeIterator()
            for _ in 0..<limit {
                guard let element = rest.next() else { break }
                reads.addTask { await result(element) }
            }
            for await (element, outcome) in reads {
                switch outcome {
                case .success(let found): take(element, found)
                case .failure(let error): return .failure(error)
                }
                if let element = rest.next() { reads.addTask { await result(element) } }
            }
            return .success(())
        }
        try result.get()
    }
}
