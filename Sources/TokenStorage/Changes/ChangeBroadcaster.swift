internal import Synchronization

/// Distributes change hints to any number of streams. Drivers implement ``TokenStore/changes()`` with it.
package final class ChangeBroadcaster: Sendable {
    /// The most hints that wait for a slow listener. Beyond that the oldest are lost, which the contract of hints
    /// allows.
    package static let bufferLimit = 4096

    private struct State {
        var listeners: [UInt64: AsyncStream<RecordChange>.Continuation] = [:]
        var nextListener: UInt64 = 0
        var finished = false
    }

    private let state = Mutex(State())

    package init() {}

    deinit { self.finish() }

    /// Whether any stream would get a change announced now.
    package var hasListeners: Bool { self.state.withLock { !$0.listeners.isEmpty } }

    /// A stream of the changes announced from now on. It ends with ``finish()``.
    package func listen() -> AsyncStream<RecordChange> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: RecordChange.self,
            bufferingPolicy: .bufferingNewest(Self.bufferLimit)
        )
        let joined: UInt64? = self.state.withLock { state in
            guard !state.finished else { return nil }
            let listener = state.nextListener
            state.nextListener += 1
            state.listeners[listener] = continuation
            return listener
        }
        guard let listener = joined else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in self?.leave(listener) }
        return stream
    }

    /// Sends a change to all streams.
    package func announce(_ change: RecordChange) {
        // Outside the lock, because a continuation may call back into `leave`.
        for continuation in self.state.withLock({ Array($0.listeners.values) }) {
            continuation.yield(change)
        }
    }

    /// Ends all streams. Streams opened later end at once.
    package func finish() {
        let listeners = self.state.withLock { state in
            state.finished = true
            defer { state.listeners = [:] }
            return Array(state.listeners.values)
        }
        for continuation in listeners { continuation.finish() }
    }

    private func leave(_ listener: UInt64) {
        self.state.withLock { $0.listeners[listener] = nil }
    }
}
