/// The kill log as far as it was read, folded: which tokens are dead.
///
/// A token set carries an observed epoch, the epoch that its writer had read. It is dead when one of its scopes was killed later.
/// So nothing has to be found and changed for a kill to hold, and what a refresh from before the kill still brings is
/// born dead.
package struct KillEpochs: Equatable, Sendable {
    private struct ScopeState: Equatable {
        /// Stamps below this are dead.
        var epoch: Epoch
        /// The kill has not been lifted: there are no new tokens either.
        var isKilled: Bool
        /// With observed epochs below this requests under way are cut.
        var abortEpoch: Epoch
        /// What of it were kills, and what removals: the last of each.
        var invalidation: Invalidation
    }

    /// The last entry that was read; what a new token set is stamped with.
    package private(set) var last = Epoch.start
    /// Which entries these were, where entries may be lost and another may have had the number; the last ones.
    private var entries: [Epoch: KillID] = [:]
    private var states: [KillScope: ScopeState] = [:]
    /// Killed by orders that this process knows of and that do not stand in the log yet: here they hold all the same.
    package private(set) var pending: [KillScope: KillStreams] = [:]

    /// Before the first kill.
    package init() {}

    /// What a kill log says of a token set, or of an account that has none.
    package enum Verdict: Equatable, Sendable {
        case live
        /// Its tokens were killed; new ones may come.
        case dead
        /// The kill switch holds: nothing may come.
        case killed
    }

    /// The last entries that took tokens; `nil` where there is none of that kind.
    package struct Invalidation: Equatable, Sendable {
        /// A kill, lifted or not.
        package let kill: Epoch?
        /// The removal of an account's tokens, without a kill.
        package let removal: Epoch?

        /// The last of them was a removal.
        package var endWithRemoval: Bool {
            guard let removal = self.removal else { return false }
            return self.kill.map { $0 < removal } ?? true
        }
    }

    /// Judges tokens of `account` at `provider` with the observed epoch `observedEpoch`.
    ///
    /// - Parameter formerly: the providers that they were bound to before: a kill of any of them is about them too.
    package func verdict(
        on observedEpoch: Epoch,
        of account: AccountID,
        at provider: ProviderID,
        formerly: [ProviderID] = []
    ) -> Verdict {
        // Nearly always.
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

    /// Whether requests under way with such tokens, where these are dead, may go on to their end: each kill that is about
    /// them lets them.
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

    /// The last entry that killed tokens of `account` at `provider` with the observed epoch `observedEpoch`; `nil` where they live.
    package func killer(
        of observedEpoch: Epoch,
        of account: AccountID,
        at provider: ProviderID,
        formerly: [ProviderID] = []
    ) -> Epoch? {
        Self.scopes(of: account, at: provider, formerly)
            .compactMap { self.states[$0]?.epoch }.filter { observedEpoch < $0 }.max()
    }

    /// What took tokens of `account`, made for any of `providers`: for words about them, and no verdict.
    package func invalidation(of account: AccountID, at providers: Set<ProviderID>) -> Invalidation {
        let scopes = [KillScope.all, .account(account)] + providers.map { KillScope.provider($0) }
        let takings = scopes.compactMap { self.states[$0]?.invalidation }
        return Invalidation(kill: takings.compactMap(\.kill).max(), removal: takings.compactMap(\.removal).max())
    }

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

    /// Whether `scope` itself is killed, whatever holds for the wider ones.
    package func isKilled(_ scope: KillScope) -> Bool {
        self.states[scope]?.isKilled == true || self.pending[scope] != nil
    }

    /// As ``isKilled(_:)``, by the log alone.
    package func holds(_ scope: KillScope) -> Bool { self.states[scope]?.isKilled == true }

    /// Scopes that are killed now.
    package var killed: Set<KillScope> {
        Set(self.pending.keys).union(self.states.lazy.filter(\.value.isKilled).map(\.key))
    }

    // MARK: - Branches

    /// The last entry that was read, where that is noted.
    package var lastEntry: KillID? { self.entries[self.last] }

    /// Notes which entry was taken up last.
    package mutating func note(_ entry: KillID) {
        self.entries[self.last] = entry
        // What was read so long ago every replica has read, or it has joined anew.
        if self.entries.count > 2 * Self.mostNoted {
            self.entries = self.entries.filter { $0.key.rawValue + UInt64(Self.mostNoted) > self.last.rawValue }
        }
    }

    private static let mostNoted = 4_096

    /// The observed epoch as far as it counts here: a writer that had read another entry of that number went by a log that was lost,
    /// and nobody knows from where on.
    ///
    /// - Parameter entry: which the writer had read; `nil` where none is noted.
    package func counted(_ observedEpoch: Epoch, by entry: KillID?) -> Epoch {
        guard let entry, let own = self.entries[observedEpoch], own != entry else { return observedEpoch }
        return .start
    }

    // MARK: - Folding

    /// Entry `epoch`, behind the last: the tokens of `scope` are dead.
    ///
    /// - Parameters:
    ///   - holds: no new ones may come until ``lift(_:at:)``; a removal takes what is there and no more.
    ///   - streams: what becomes of requests under way with them.
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

    /// Entry `epoch`, behind the last: new tokens of `scope` may come. What was dead stays dead.
    package mutating func lift(_ scope: KillScope, at epoch: Epoch) {
        self.last = epoch
        self.states[scope]?.isKilled = false
    }

    /// Entry `epoch`, behind the last, kills nothing.
    package mutating func skip(_ epoch: Epoch) { self.last = epoch }

    /// The scopes of all orders that do not stand in the log yet, in place of those there were.
    package mutating func setPending(_ scopes: [KillScope: KillStreams]) { self.pending = scopes }
}

/// What a kill is about: everything, a provider's accounts, or one account.
package enum KillScope: Hashable, Sendable {
    case all
    case provider(ProviderID)
    case account(AccountID)

    /// As `martlet kill` and `martlet revive` take it.
    package var option: String {
        switch self {
        case .all: "--all"
        case .provider(let provider): "--provider \(provider)"
        case .account(let account): "--account \(account)"
        }
    }
}

/// What becomes of requests under way whose token has been killed.
package enum KillStreams: String, Sendable, CaseIterable {
    /// They are cut.
    case abort
    /// Those whose head has left may end; no new one starts.
    case drain
}
