internal import Synchronization
package import TokenModel
package import TokenStorage

/// When each token that was asked about in vain is asked about again, by this process's own clock.
package final class RevocationSchedule: Sendable {
    private struct State {
        var tries: [RecordKey: (tries: Int, since: BootInstant)] = [:]
        /// So many entries are worth a look for old ones.
        var most = RevocationSchedule.mostKept
        /// Since when there is no endpoint to ask.
        var orphans: [RecordKey: BootInstant] = [:]
    }

    private let state = Mutex(State())

    /// Longer than any pause, so that a token whose entry goes is due.
    private static let keptFor = Duration.seconds(300)
    private static let mostKept = 10_000

    package init() {}

    /// When to ask a provider again that was asked `tries` times: `pause` after this count was first seen.
    package func due(_ key: RecordKey, tries: Int, pause: Duration, now: BootInstant) -> BootInstant {
        guard tries > 0 else { return now }
        return self.state.withLock { state in
            if let seen = state.tries[key], seen.tries == tries { return seen.since.advanced(by: pause) }
            if state.tries.count >= state.most {
                state.tries = state.tries.filter { $0.value.since.duration(to: now) < Self.keptFor }
                state.most = max(Self.mostKept, 2 * state.tries.count)
            }
            state.tries[key] = (tries, now)
            return now.advanced(by: pause)
        }
    }

    /// The same for a count that was seen before; `nil` for any other. Starts no pause.
    package func knownDue(_ key: RecordKey, tries: Int, pause: Duration) -> BootInstant? {
        self.state.withLock { state in
            guard let seen = state.tries[key], seen.tries == tries else { return nil }
            return seen.since.advanced(by: pause)
        }
    }

    /// How long there has been no endpoint to ask; `nil` before ``noteOrphan(_:now:)``.
    func orphaned(_ key: RecordKey, now: BootInstant) -> Duration? {
        self.state.withLock { $0.orphans[key]?.duration(to: now) }
    }

    /// Notes that there is no endpoint to ask.
    func noteOrphan(_ key: RecordKey, now: BootInstant) {
        self.state.withLock { state in
            if state.orphans[key] == nil { state.orphans[key] = now }
        }
    }

    /// The token is settled.
    func forget(_ key: RecordKey) {
        self.state.withLock { state in
            state.tries.removeValue(forKey: key)
            state.orphans.removeValue(forKey: key)
        }
    }
}
