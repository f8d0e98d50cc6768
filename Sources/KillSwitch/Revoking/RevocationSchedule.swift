internal import Synchronization
internal import TokenModel
internal import TokenStorage

/// When each token's provider is asked again, by this process's own clock.
final class RevocationSchedule: Sendable {
    private struct State {
        var tries: [RecordKey: (tries: Int, since: BootInstant)] = [:]
        var orphans: Set<RecordKey> = []
    }

    private let state = Mutex(State())

    /// When a provider is to be asked again that was asked `tries` times: `pause` after the first sight of that.
    func due(_ key: RecordKey, tries: Int, pause: Duration, now: BootInstant) -> BootInstant {
        self.state.withLock { state in
            if let seen = state.tries[key], seen.tries == tries { return seen.since.advanced(by: pause) }
            state.tries[key] = (tries, now)
            return now.advanced(by: pause)
        }
    }

    /// The same where that was seen already; `nil` where it was not. Begins nothing.
    func knownDue(_ key: RecordKey, tries: Int, pause: Duration) -> BootInstant? {
        self.state.withLock { state in
            guard let seen = state.tries[key], seen.tries == tries else { return nil }
            return seen.since.advanced(by: pause)
        }
    }

    /// Whether it is seen for the first time that there is nobody to ask.
    func isNewOrphan(_ key: RecordKey) -> Bool {
        self.state.withLock { $0.orphans.insert(key).inserted }
    }

    /// There will be no more of it.
    func forget(_ key: RecordKey) {
        self.state.withLock { state in
            state.tries.removeValue(forKey: key)
            state.orphans.remove(key)
        }
    }
}
