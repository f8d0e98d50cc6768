internal import Dispatch
internal import Synchronization

/// What is to be done when an operation has taken too long, for many operations that may all take as long.
///
/// One timer for all of them: a timer of its own for each would wake a thread each time, to be told of an end that nearly
/// always came in time.
final class Deadlines: Sendable {
    private struct Watched {
        let deadline: ContinuousClock.Instant
        let late: @Sendable () -> Void
    }

    private struct State {
        /// In the order of their deadlines, but for those that came at the same moment.
        var watched: [Watched] = []
        var isArmed = false
    }

    /// A queue of its own, because the global ones may be short of threads.
    private let queue = DispatchQueue(label: "martlet.store.clock")
    private let limit: Duration
    private let state = Mutex(State())

    /// - Parameter limit: how long each operation may take.
    init(_ limit: Duration) {
        self.limit = limit
    }

    /// Calls `late` when the time of an operation that begins now is over, whether or not that has ended.
    func watch(_ late: @escaping @Sendable () -> Void) {
        let deadline = ContinuousClock.now + self.limit
        let isFirst = self.state.withLock { state in
            state.watched.append(Watched(deadline: deadline, late: late))
            defer { state.isArmed = true }
            return !state.isArmed
        }
        if isFirst { self.wake(at: deadline) }
    }

    private func wake(at deadline: ContinuousClock.Instant) {
        let wait = max(ContinuousClock.now.duration(to: deadline), .zero)
        self.queue.asyncAfter(deadline: .now() + .nanoseconds(Int(wait / .nanoseconds(1)))) { self.look() }
    }

    private func look() {
        let now = ContinuousClock.now
        let (over, next) = self.state.withLock { state in
            let count = state.watched.firstIndex { $0.deadline > now } ?? state.watched.count
            let over = state.watched.prefix(count)
            state.watched.removeFirst(count)
            state.isArmed = !state.watched.isEmpty
            return (Array(over), state.watched.first?.deadline)
        }
        if let next { self.wake(at: next) }
        for one in over { one.late() }
    }
}
