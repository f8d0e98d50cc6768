internal import Synchronization
internal import TokenModel

/// Hands events on in the order they were posted, one at a time, and under nobody's lock: whoever finds nobody
/// delivering delivers all there are.
final class EventRelay: Sendable {
    private struct Queue {
        var events: [PassEvent] = []
        var isDelivering = false
    }

    private let queue = Mutex(Queue())
    private let receive: @Sendable (PassEvent) -> Void

    init(_ receive: @escaping @Sendable (PassEvent) -> Void) {
        self.receive = receive
    }

    /// Puts an event behind those posted before. Call it in the same critical section as the change it tells of.
    func post(_ event: PassEvent) {
        self.queue.withLock { $0.events.append(event) }
    }

    /// Delivers what was posted. Call it outside of any lock.
    func deliver() {
        let isOurs = self.queue.withLock { queue in
            guard !queue.isDelivering, !queue.events.isEmpty else { return false }
            queue.isDelivering = true
            return true
        }
        guard isOurs else { return }
        while let events = self.takeOrEnd() {
            for event in events { self.receive(event) }
        }
    }

    private func takeOrEnd() -> [PassEvent]? {
        self.queue.withLock { queue in
            defer { queue.events = [] }
            queue.isDelivering = !queue.events.isEmpty
            return queue.isDelivering ? queue.events : nil
        }
    }
}
