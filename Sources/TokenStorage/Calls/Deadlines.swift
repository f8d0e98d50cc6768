internal import Dispatch
internal import Synchronization
package import TokenModel

/// Watches operations that all have the same time limit, and reports each whose time is over.
///
/// One timer serves all of them. A timer per operation would wake a thread each time, for an operation that has usually
/// ended long before.
package final class Deadlines: Sendable {
    /// Called with whether the operation's time is over. Returns whether a caller still waits for the operation.
    package typealias Check = @Sendable (_ isLate: Bool) -> Bool

    private struct Watched {
        let deadline: BootInstant
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
    private let timepiece: Timepiece
    private let state = Mutex(State())

    /// - Parameter limit: how long each operation may take.
    package init(_ limit: Duration, by timepiece: Timepiece = .system) {
        self.limit = limit
        self.timepiece = timepiece
    }

    /// Watches an operation that begins now.
    package func watch(_ check: @escaping Check) {
        let deadline = self.timepiece.now.boot.advanced(by: self.limit)
        let isFirst = self.state.withLock { state in
            state.watched.append(Watched(deadline: deadline, check: check))
            defer { state.isArmed = true }
            return !state.isArmed
        }
        if isFirst { self.look(at: deadline) }
    }

    private func look(at instant: BootInstant) {
        let now = self.timepiece.now.boot
        let wait = max(now.duration(to: instant), Self.shortestPause)
        if let simulated = OwnedTasks.executor {
            Task(executorPreference: simulated) {
                await self.timepiece.rest(until: now.advanced(by: wait))
                self.look()
            }
            return
        }
        self.queue.asyncAfter(deadline: .now() + .nanoseconds(Int(wait / .nanoseconds(1)))) { self.look() }
    }

    private func look() {
        let watched = self.state.withLock { state in
            defer { state.watched = [] }
            return state.watched
        }
        let now = self.timepiece.now.boot
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

extension Deadlines {
    /// The reply to an operation that `begin` starts, for instance on a thread that blocks.
    ///
    /// - Parameter late: the error if the operation takes longer than the limit. It goes on, and its result is dropped.
    package func reply<Value: Sendable>(
        late: @escaping @Sendable () -> StoreError,
        _ begin: (Reply<Value>) -> Void
    ) async throws(StoreError) -> Value {
        let result: Result<Value, StoreError> = await withCheckedContinuation { continuation in
            let reply = Reply(to: continuation)
            self.watch { isLate in
                guard reply.isAwaited else { return false }
                if isLate { reply.give(.failure(late())) }
                return !isLate
            }
            begin(reply)
        }
        return try result.get()
    }
}

/// The reply to one operation. Only the first result counts; later ones are dropped.
package final class Reply<Value: Sendable>: Sendable {
    private let continuation: Mutex<CheckedContinuation<Result<Value, StoreError>, Never>?>

    fileprivate init(to continuation: CheckedContinuation<Result<Value, StoreError>, Never>) {
        self.continuation = Mutex(continuation)
    }

    /// Whether no result has been given yet.
    package var isAwaited: Bool { self.continuation.withLock { $0 != nil } }

    package func give(_ result: Result<Value, StoreError>) {
        let waiting = self.continuation.withLock { continuation in
            defer { continuation = nil }
            return continuation
        }
        waiting?.resume(returning: result)
    }
}
