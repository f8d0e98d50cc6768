internal import Synchronization
internal import TokenModel

/// Hands events on in the order they were posted, one at a time.
///
/// Whoever calls ``deliver()`` comes back only when all that was posted before has been received, by whomever: so a credential
/// that is given as an answer has been announced before.
final class EventRelay: Sendable {
    private let queue = Mutex<[CredentialEvent]>([])
    /// Held while events are received. The receiver must not come back here: it hands over and returns.
    private let delivery = Mutex(())
    private let receive: @Sendable (CredentialEvent) -> Void

    init(_ receive: @escaping @Sendable (CredentialEvent) -> Void) {
        self.receive = receive
    }

    /// Puts an event behind those posted before. Call it in the same critical section as the change it tells of.
    func post(_ event: CredentialEvent) {
        self.queue.withLock { $0.append(event) }
    }

    /// Delivers what was posted. Call it outside of any lock of the engine's.
    func deliver() {
        self.delivery.withLock { _ in
            while let events = self.take() {
                for event in events { self.receive(event) }
            }
        }
    }

    private func take() -> [CredentialEvent]? {
        self.queue.withLock { events in
            defer { events = [] }
            return events.isEmpty ? nil : events
        }
    }
}
