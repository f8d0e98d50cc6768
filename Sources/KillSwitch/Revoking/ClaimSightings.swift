internal import Synchronization
internal import TokenModel
internal import TokenStorage

/// What this process has seen stand unchanged, and since when, by its own clock.
final class ClaimSightings: Sendable {
    private struct State {
        var claims: [AccountID: (claim: AccountRecord.Claim, since: BootInstant)] = [:]
        var tries: [RecordKey: (tries: Int, since: BootInstant)] = [:]
        var orphans: Set<RecordKey> = []
    }

    private let state = Mutex(State())

    /// Whether a claim has been there for longer than it stands: whoever made it is gone.
    func isOver(_ claim: AccountRecord.Claim, of account: AccountID, now: BootInstant) -> Bool {
        self.state.withLock { state in
            guard let seen = state.claims[account], seen.claim == claim else {
                state.claims[account] = (claim, now)
                return false
            }
            return seen.since.duration(to: now) > claim.standsFor
        }
    }

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
