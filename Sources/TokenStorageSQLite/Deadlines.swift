internal import Dispatch
internal import Synchronization

/// Watches operations that all have the same time limit, and reports each whose time is over.
///
/// One timer serves all of them. A timer per operation would wake a thread each time, for an operation that has usually
/// ended long before.
final class Deadlines: Sendable {
    /// Called with whether the operation's time is over. Returns whether a caller still waits for the operation.
    typealias Check = @Sendable (_ isLate: Bool) -> Bool

    private struct Watched {
        let deadline: ContinuousClock.Instant
        let check: Check
    }

    private struct State {
        var watched: [Watched] = []
        var isArmed = false
    }

    /// The shortest time between two checks.
    private static let shortestPause = Duration.milliseconds(20)

    /// A queue of its own, because the global queues may run out of threads.
    private let queue = DispatchQueue(label: "martlet.store.clock")
    private let limit: Duration
    private let state = Mutex(State())

    /// - Parameter limit: how long each operation may take.
    init(_ limit: Duration) {
        self.limit = limit
    }

    /// Watches an operation that begins now.
    func watch(_ check: @escaping Check) {
        let deadline = ContinuousClock.now + self.limit
        let isFirst = self.state.withLock { state in
            state.watched.append(Watched(deadline: deadline, check: check))
            defer { state.isArmed = true }
            return !state.isArmed
        }
        if isFirst { self.look(at: deadline) }
    }

    private func look(at instant: ContinuousClock.Instant) {
        let wait = max(ContinuousClock.now.duration(to: instant), Self.shortestPause)
        self.queue.asyncAfter(deadline: .now() + .nanoseconds(Int(wait / .nanoseconds(1)))) { self.look() }
    }

    private func look() {
        let watched = self.state.withLock { state in
            defer { state.watched = [] }
            return state.watched
        }
        let now = ContinuousClock.now
        // Nearly all operations have ended by now.
        let rest = watched.filter { $0.check($0.deadline <= now) }
        let next = self.state.withLock { state in
            state.watched.insert(contentsOf: rest, at: 0)
            state.isArmed = !state.watched.isEmpty
            return state.watched.first?.deadline
        }
        if let next { self.look(at: next) }
    }
}
