/// The state that results from all kill log entries read so far. It tells which tokens are dead.
///
/// A token set carries an observed epoch: the epoch that its writer had read. The token set is dead if one of its
/// scopes was killed after that epoch. A kill therefore takes effect without finding and changing any record. A refresh
/// that began before the kill produces tokens that are dead from the start.
package struct KillEpochs: Equatable, Sendable {
    private struct ScopeState: Equatable {
        /// Tokens with an observed epoch below this are dead.
        var epoch: Epoch
        /// The kill has not been lifted, so no new tokens are accepted either.
        var isKilled: Bool
        /// Requests in progress are aborted if the observed epoch of their token is below this.
        var abortEpoch: Epoch
        /// The last kill and the last removal of this scope.
        var invalidation: Invalidation
    }

    /// The last entry that was read. A new token set stores it as its observed epoch.
    package private(set) var last = Epoch.start
    /// The ids of the latest entries that were read. A store may lose entries and reuse their numbers; the id tells
    /// such entries apart.
    private var entries: [Epoch: KillID] = [:]
    private var states: [KillScope: ScopeState] = [:]
    /// Kill orders that this process knows and that are not in the log yet. They already apply in this process.
    package private(set) var pending: [KillScope: KillStreams] = [:]

    /// Before the first kill.
    package init() {}

    /// The kill log's verdict on a token set, or on an account that has none.
    package enum Verdict: Equatable, Sendable {
        case live
        /// The tokens were killed. New tokens are accepted.
        case dead
        /// The kill switch is on. No new tokens are accepted.
        case killed
    }

    /// The last entries that took tokens away; `nil` if there is no entry of that kind.
    package struct Invalidation: Equatable, Sendable {
        /// A kill, lifted or not.
        package let kill: Epoch?
        /// The removal of an account's tokens, without a kill.
        package let removal: Epoch?

        /// Whether the later of the two entries is the removal.
        package var endWithRemoval: Bool {
            guard let removal = self.removal else { return false }
            return self.kill.map { $0 < removal } ?? true
        }
    }

    /// Judges tokens of `account` at `provider` with the observed epoch `observedEpoch`.
    ///
    /// - Parameter formerly: the providers that the tokens were bound to before. A kill of any of them covers these
    ///   tokens too.
    package func verdict(
        on observedEpoch: Epoch,
        of account: AccountID,
        at provider: ProviderID,
        formerly: [ProviderID] = []
    ) -> Verdict {
        // The common case.
        guard !self.states.isEmpty || !self.pending.isEmpty else { return .live }
        var verdict = Verdict.live
        for scope in Self.scopes(of: account, at: provider, formerly) {
            if self.pending[scope] != nil { return .killed }
            guard let mark = self.states[scope] else { continue }
            if mark.isKilled { return .killed }
            if observedEpoch < mark.epoch { verdict = .dead }
        }
        return verdict
    }

    /// Whether requests in progress with such tokens may finish although the tokens are dead. They may if every kill
    /// that covers the tokens allows it.
    package func mayEnd(
        with observedEpoch: Epoch,
        of account: AccountID,
        at provider: ProviderID,
        formerly: [ProviderID] = []
    ) -> Bool {
        Self.scopes(of: account, at: provider, formerly).allSatisfy { scope in
            self.pending[scope] != .abort && self.states[scope].map { observedEpoch >= $0.abortEpoch } ?? true
        }
    }

    /// The last entry that killed tokens of `account` at `provider` with the observed epoch `observedEpoch`; `nil` if
    /// these tokens are alive.
    package func killer(
        of observedEpoch: Epoch,
        of account: AccountID,
        at provider: ProviderID,
        formerly: [ProviderID] = []
    ) -> Epoch? {
        Self.scopes(of: account, at: provider, formerly)
            .compactMap { self.states[$0]?.epoch }.filter { observedEpoch < $0 }.max()
    }

    /// The last kill and removal that took tokens of `account` issued by any of `providers`. Use it for messages only;
    /// it is not a verdict.
    package func invalidation(of account: AccountID, at providers: Set<ProviderID>) -> Invalidation {
        let scopes = [KillScope.all, .account(account)] + providers.map { KillScope.provider($0) }
        let takings = scopes.compactMap { self.states[$0]?.invalidation }
        return Invalidation(kill: takings.compactMap(\.kill).max(), removal: takings.compactMap(\.removal).max())
    }

    /// Whether these kills give every token set that was written before them the same verdict as `other`.
    package func judge(like other: KillEpochs) -> Bool { self.states == other.states && self.pending == other.pending }

    /// Judges a credential.
    package func verdict(on credential: UpstreamCredential) -> Verdict {
        self.verdict(
            on: credential.observedEpoch,
            of: credential.account,
            at: credential.provider,
            formerly: credential.formerProviders
        )
    }

    private static func scopes(
        of account: AccountID,
        at provider: ProviderID,
        _ formerProviders: [ProviderID]
    ) -> [KillScope] {
        [.all, .provider(provider), .account(account)] + formerProviders.map(KillScope.provider)
    }

    /// Whether `scope` itself is killed. Wider scopes are not considered.
    package func isKilled(_ scope: KillScope) -> Bool {
        self.states[scope]?.isKilled == true || self.pending[scope] != nil
    }

    /// Like ``isKilled(_:)``, but ignores orders that are not in the log yet.
    package func holds(_ scope: KillScope) -> Bool { self.states[scope]?.isKilled == true }

    /// Whether no entry of the log has killed anything, so that all tokens are alive.
    package var killsNothing: Bool { self.states.isEmpty }

    /// All scopes that are killed now.
    package var killed: Set<KillScope> {
        Set(self.pending.keys).union(self.states.lazy.filter(\.value.isKilled).map(\.key))
    }

    // MARK: - Diverging logs

    /// The id of the last entry that was read; `nil` if it was not noted.
    package var lastEntry: KillID? { self.entries[self.last] }

    /// Stores the id of the entry that was applied last.
    package mutating func note(_ entry: KillID) {
        self.entries[self.last] = entry
        // Every replica has read an entry this old, or has joined anew since then.
        if self.entries.count > 2 * Self.mostNoted {
            self.entries = self.entries.filter { $0.key.rawValue + UInt64(Self.mostNoted) > self.last.rawValue }
        }
    }

    private static let mostNoted = 4_096

    /// The observed epoch, or ``Epoch/start`` if the writer read another entry with the same number. Such a writer
    /// followed a log that was lost, and we can't tell at which entry that log and ours diverge.
    ///
    /// - Parameter entry: the id of the entry that the writer had read; `nil` if the record does not say.
    package func counted(_ observedEpoch: Epoch, by entry: KillID?) -> Epoch {
        guard let entry, let own = self.entries[observedEpoch], own != entry else { return observedEpoch }
        return .start
    }

    // MARK: - Applying log entries

    /// Applies entry `epoch`, which follows the last one: the tokens of `scope` are dead.
    ///
    /// - Parameters:
    ///   - holds: whether no new tokens are accepted until ``lift(_:at:)``. A removal passes `false`: it takes the
    ///     existing tokens only.
    ///   - streams: what happens to requests in progress with these tokens.
    package mutating func raise(
        _ scope: KillScope,
        at epoch: Epoch,
        holds: Bool,
        streams: KillStreams = .abort
    ) {
        self.last = epoch
        let before = self.states[scope]
        self.states[scope] = ScopeState(
            epoch: epoch,
            isKilled: holds || before?.isKilled == true,
            abortEpoch: streams == .abort ? epoch : before?.abortEpoch ?? .start,
            invalidation: Invalidation(
                kill: holds ? epoch : before?.invalidation.kill,
                removal: holds ? before?.invalidation.removal : epoch
            )
        )
    }

    /// Applies entry `epoch`, which follows the last one: new tokens of `scope` are accepted. Dead tokens stay dead.
    package mutating func lift(_ scope: KillScope, at epoch: Epoch) {
        self.last = epoch
        self.states[scope]?.isKilled = false
    }

    /// Applies entry `epoch`, which follows the last one and kills nothing.
    package mutating func skip(_ epoch: Epoch) { self.last = epoch }

    /// Replaces ``pending`` with the scopes of all orders that are not in the log yet.
    package mutating func setPending(_ scopes: [KillScope: KillStreams]) { self.pending = scopes }
}

/// The scope of a kill: everything, a provider's accounts, or one account.
package enum KillScope: Hashable, Sendable {
    case all
    case provider(ProviderID)
    case account(AccountID)

    /// The command-line option of `martlet kill` and `martlet revive` for this scope.
    package var option: String {
        switch self {
        case .all: "--all"
        case .provider(let provider): "--provider \(provider)"
        case .account(let account): "--account \(account)"
        }
    }
}

/// What happens to requests in progress whose token has been killed.
package enum KillStreams: String, Sendable, CaseIterable {
    /// They are aborted.
    case abort
    /// A request whose head has been sent may finish. No new request starts.
    case drain
}
