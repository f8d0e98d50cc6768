internal import KillSwitch
internal import Simulation
internal import Synchronization
internal import TokenModel
internal import TokenStorage

/// What has happened in a cluster, and what of it should not have.
package final class Ledger: Sendable {
    /// A kill that an operator has ordered.
    struct Kill {
        let id: KillID
        let scope: KillScope
        let orderedAt: BootInstant
        /// The replica that took the order, and knows the kill while it runs.
        let replica: String
        var isComplete = false
        /// Tokens of its scope are accepted again.
        var isLifted = false
        /// A failover has lost its entry.
        var isLost = false
    }

    private struct State {
        var story: [String] = []
        var first = 0
        var violations: [String] = []
        var kills: [KillID: Kill] = [:]
        /// The access tokens that a store or a journal has had.
        var durable: Set<String> = []
        /// The grants of each account that a store has had, the last one at the end.
        var grants: [AccountID: [GrantID]] = [:]
        /// Until when a replica may have a lease of which no other knows.
        var unlisted: [String: BootInstant] = [:]
        var counts: [Count: Int] = [:]
        /// The acknowledged entries of the audit log, and their numbers.
        var audited: [String: UInt64] = [:]
    }

    /// What a run is worth: a run in which nothing happens shows nothing.
    package enum Count: String, Sendable, CaseIterable {
        case sent, refreshed, killed, revived, imported, signedIn, audited, failovers, losses, deaths, stops, excused
    }

    private static let storyLength = 200

    private let simulation: Simulation
    private let state = Mutex(State())

    init(_ simulation: Simulation) { self.simulation = simulation }

    /// The last 200 events.
    package var story: [String] { self.state.withLock { Array($0.story[$0.first...] + $0.story[..<$0.first]) } }
    package var violations: [String] { self.state.withLock { $0.violations } }

    package func count(_ count: Count) -> Int { self.state.withLock { $0.counts[count, default: 0] } }

    func add(_ count: Count, _ number: Int = 1) { self.state.withLock { $0.counts[count, default: 0] += number } }

    /// Tells the story on.
    func note(_ who: String, _ what: String) {
        let seconds = BootInstant(nanoseconds: 3_600_000_000_000).duration(to: self.simulation.now)
        let line = "\(seconds)  \(who)  \(what)"
        self.state.withLock { state in
            if state.story.count < Self.storyLength { return state.story.append(line) }
            state.story[state.first] = line
            state.first = (state.first + 1) % Self.storyLength
        }
    }

    /// Records that something is not as it must be. A run ends then.
    func violate(_ rule: String, _ what: String) {
        self.note(rule, what)
        self.state.withLock { $0.violations.append("\(rule): \(what)") }
    }

    // MARK: - Kills

    func ordered(_ id: KillID, _ scope: KillScope, at orderedAt: BootInstant, by replica: String) {
        self.add(.killed)
        self.state.withLock { $0.kills[id] = Kill(id: id, scope: scope, orderedAt: orderedAt, replica: replica) }
    }

    func revived(_ scope: KillScope) {
        self.add(.revived)
        self.state.withLock { state in
            for (id, kill) in state.kills where kill.scope == scope { state.kills[id]?.isLifted = true }
        }
    }

    func complete(_ id: KillID) {
        let isNew = self.state.withLock { state in
            let isNew = state.kills[id]?.isComplete == false
            state.kills[id]?.isComplete = true
            return isNew
        }
        if isNew { self.note("operator", "kill \(id) is complete") }
    }

    /// The kills that were ordered and not lost.
    var standing: [Kill] { self.state.withLock { $0.kills.values.filter { !$0.isLost } } }

    /// The kills that a failover has lost, and that nobody has lifted.
    var lost: [Kill] { self.state.withLock { $0.kills.values.filter { $0.isLost && !$0.isLifted } } }

    /// A failover has lost all kills but those that `stands` knows, and all replicas but those in `listed`.
    func lost(except stands: (KillID) -> Bool, of replicas: [String], listed: Set<String>, until end: BootInstant) {
        self.state.withLock { state in
            for id in state.kills.keys where !stands(id) { state.kills[id]?.isLost = true }
            for name in replicas where !listed.contains(name) { state.unlisted[name] = end }
        }
    }

    // MARK: - The audit log

    /// A replica says that the audit log has an entry.
    func audited(_ reason: String, at number: UInt64) {
        self.add(.audited)
        self.state.withLock { $0.audited[reason] = number }
    }

    var auditedEntries: [String: UInt64] { self.state.withLock { $0.audited } }

    // MARK: - Tokens

    func isDurable(_ accessToken: String) { self.state.withLock { _ = $0.durable.insert(accessToken) } }

    func wasDurable(_ accessToken: String) -> Bool { self.state.withLock { $0.durable.contains(accessToken) } }

    /// A store has a record of a grant. Invariant I2: a grant that another one has replaced does not come back, unless a
    /// failover has lost the other one. Of two imports at the same time either may be the last.
    func stored(_ record: AccountRecord, of account: AccountID) {
        let isBack = self.state.withLock { state in
            var grants = state.grants[account, default: []]
            guard grants.last != record.grant else { return false }
            let isImport = record.tokens?.refreshToken?.text.hasSuffix("-0") == true
            let isBack = grants.contains(record.grant) && !isImport && state.counts[.losses, default: 0] == 0
            grants.append(record.grant)
            state.grants[account] = grants
            return isBack
        }
        if isBack { self.violate("I2", "a record of \(account) replaces that of a later grant") }
    }

    /// A token leaves in a request. Invariants I3 to I5: it was asked for after each complete kill that covers it.
    func sent(_ token: SimulatedProvider.AccessToken, by replica: String) {
        self.add(.sent)
        let now = self.simulation.now
        let violated: Kill? = self.state.withLock { state in
            guard state.unlisted[replica].map({ $0 < now }) ?? true else { return nil }
            return state.kills.values.first { kill in
                kill.isComplete && !kill.isLost && kill.scope.covers(token.account) && token.askedAt < kill.orderedAt
            }
        }
        guard let violated else { return }
        self.violate(
            "I3",
            "\(replica) sends \(token.text), and the kill \(violated.id) of \(violated.scope.text) is complete"
        )
    }
}

extension KillScope {
    /// Whether the scope includes an account of the only provider.
    func covers(_ account: AccountID) -> Bool {
        switch self {
        case .all, .provider: true
        case .account(let one): one == account
        }
    }
}
