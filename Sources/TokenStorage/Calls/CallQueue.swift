internal import Synchronization

/// A call of a driver that waits for its connection.
package protocol QueuedCall: Sendable {
    /// When it is too late to send it.
    var deadline: ContinuousClock.Instant { get }

    /// Gives its caller an error, if that one still waits.
    func fail(_ error: StoreError)
}

/// The calls that wait for one connection, which may be lost for a while. The one that serves the connection takes them in
/// groups; calls whose time is over are told so.
package final class CallQueue<Call: QueuedCall, Failure: Error>: Sendable {
    package enum Next: Sendable {
        case group([Call])
        /// No call waits.
        case wait
        /// The connection was closed.
        case end
    }

    private struct State {
        var waiting: [Call] = []
        var isClosed = false
        var failure: Failure?

        /// Takes out the calls whose time is over.
        mutating func takeLate() -> [Call] {
            let now = ContinuousClock.now
            defer { self.waiting.removeAll { $0.deadline <= now } }
            return self.waiting.filter { $0.deadline <= now }
        }
    }

    private let state = Mutex(State())
    private let late: @Sendable (Failure?) -> StoreError

    /// - Parameter late: the error for a call whose time is over, given why there is no connection.
    package init(late: @escaping @Sendable (Failure?) -> StoreError) { self.late = late }

    package var isClosed: Bool { self.state.withLock(\.isClosed) }

    /// Notes why there is no connection; `nil`: there is one.
    package func note(_ failure: Failure?) { self.state.withLock { $0.failure = failure } }

    /// The error for a call whose time is over now.
    package var lateness: StoreError { self.late(self.state.withLock(\.failure)) }

    /// Adds a call.
    ///
    /// - Returns: whether the one that serves must be woken. The call has failed if the connection was closed.
    package func add(_ call: Call) -> Bool {
        let isOpen = self.state.withLock { state in
            if !state.isClosed { state.waiting.append(call) }
            return !state.isClosed
        }
        if !isOpen { call.fail(Self.closed) }
        return isOpen
    }

    /// Fails all calls that wait, and later ones.
    package func close() {
        let waiting = self.state.withLock { state in
            state.isClosed = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for call in waiting { call.fail(Self.closed) }
    }

    private static var closed: StoreError { StoreError(.unreachable, "the store was closed") }

    /// Takes the calls that are to be sent together.
    ///
    /// - Parameter count: how many of the first calls belong together, at least one.
    package func next(_ count: ([Call]) -> Int) -> Next {
        let (late, next) = self.state.withLock { state in
            guard !state.isClosed else { return ([Call](), Next.end) }
            let late = state.takeLate()
            guard !state.waiting.isEmpty else { return (late, .wait) }
            let group = Array(state.waiting.prefix(count(state.waiting)))
            state.waiting.removeFirst(group.count)
            return (late, .group(group))
        }
        let error = self.lateness
        for call in late { call.fail(error) }
        return next
    }

    /// Puts calls that were not sent back to the front.
    package func putBack(_ group: [Call]) { self.state.withLock { $0.waiting.insert(contentsOf: group, at: 0) } }

    /// Fails the calls whose time is over while there is no connection.
    package func expire() {
        let late = self.state.withLock { $0.takeLate() }
        let error = self.lateness
        for call in late { call.fail(error) }
    }
}
