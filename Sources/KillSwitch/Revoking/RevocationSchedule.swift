internal import Synchronization
internal import TokenModel
internal import TokenStorage

/// When each token that was asked about in vain is asked about again, by this process's own clock.
final class RevocationSchedule: Sendable {
    private struct State {
        var tries: [RecordKey: (tries: Int, since: BootInstant)] = [:]
        var orphans: Set<RecordKey> = []
    }

    private let state = Mutex(State())

    /// Longer than any pause, so that a token whose entry goes is due.
    private static let keptFor = Duration.seconds(300)
    private static let mostKept = 10_000

    /// When to ask a provider again that was asked `tries` times: `pause` after this count was first seen.
    func due(_ key: RecordKey, tries: Int, pause: Duration, now: BootInstant) -> BootInstant {
        guard tries > 0 else { return now }
        return self.state.withLock { state in
            if let seen = state.tries[key], seen.tries == tries { return seen.since.advanced(by: pause) }
            if state.tries.count >= Self.mostKept {
                state.tries = state.tries.filter { $0.value.since.duration(to: now) < Self.keptFor }
            }
            state.tries[key] = (tries, now)
            return now.advanced(by: pause)
        }
    }

    /// The same for a count that was seen before; `nil` for any other. Starts no pause.
    func knownDue(_ key: RecordKey, tries: Int, pause: Duration) -> BootInstant? {
        self.state.withLock { state in
            guard let seen = state.tries[key], seen.tries == tries else { return nil }
            return seen.since.advanced(by: pause)
        }
    }

    /// Whether this is the first time that there is no endpoint to ask.
    func isNewOrphan(_ key: RecordKey) -> Bool {
        self.state.withLock { $0.orphans.insert(key).inserted }
    }

    /// The token is settled.
    func forget(_ key: RecordKey) {
        self.state.withLock { state in
            state.tries.removeValue(forKey: key)
            state.orphans.remove(key)
        }
    }
}
