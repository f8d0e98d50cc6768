/// The kill log as far as it was read, folded: which tokens are dead.
///
/// A token set carries a stamp, the epoch that its writer had read. It is dead when one of its scopes was killed later.
/// So nothing has to be found and changed for a kill to hold, and what a refresh from before the kill still brings is
/// born dead.
package struct KillEpochs: Equatable, Sendable {
    private struct Mark: Equatable {
        /// Stamps below this are dead.
        var epoch: Epoch
        /// The kill has not been lifted: there are no new tokens either.
        var isKilled: Bool
        /// With stamps below this requests under way are cut.
        var abortEpoch: Epoch
        /// What of it were kills, and what removals: the last of each.
        var takings: Takings
    }

    /// The last entry that was read; what a new token set is stamped with.
    package private(set) var last = Epoch.start
    /// Which entries these were, where entries may be lost and another may have had the number; the last ones.
    private var entries: [Epoch: KillID] = [:]
    private var marks: [KillScope: Mark] = [:]
    /// Killed by orders that this process knows of and that do not stand in the log yet: here they hold all the same.
    package private(set) var ordered: [KillScope: KillStreams] = [:]

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
    package struct Takings: Equatable, Sendable {
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

    /// Judges tokens of `account` at `provider` with the stamp `stamp`.
    ///
    /// - Parameter formerly: the providers that they were bound to before: a kill of any of them is about them too.
    package func verdict(
        on stamp: Epoch,
        of account: AccountID,
        at provider: ProviderID,
        formerly: [ProviderID] = []
    ) -> Verdict {
        // Nearly always.
        guard !self.marks.isEmpty || !self.ordered.isEmpty else { return .live }
        var verdict = Verdict.live
        for scope in Self.scopes(of: account, at: provider, formerly) {
            if self.ordered[scope] != nil { return .killed }
            guard let mark = self.marks[scope] else { continue }
            if mark.isKilled { return .killed }
            if stamp < mark.epoch { verdict = .dead }
        }
        return verdict
    }

    /// Whether requests under way with such tokens, where these are dead, may go on to their end: each kill that is about
    /// them lets them.
    package func mayEnd(
        with stamp: Epoch,
        of account: AccountID,
        at provider: ProviderID,
        formerly: [ProviderID] = []
    ) -> Bool {
        Self.scopes(of: account, at: provider, formerly).allSatisfy { scope in
            self.ordered[scope] != .abort && self.marks[scope].map { stamp >= $0.abortEpoch } ?? true
        }
    }

    /// The last entry that killed tokens of `account` at `provider` with the stamp `stamp`; `nil` where they live.
    package func killer(
        of stamp: Epoch,
        of account: AccountID,
        at provider: ProviderID,
        formerly: [ProviderID] = []
    ) -> Epoch? {
        Self.scopes(of: account, at: provider, formerly)
            .compactMap { self.marks[$0]?.epoch }.filter { stamp < $0 }.max()
    }

    /// What took tokens of `account`, made for any of `providers`: for words about them, and no verdict.
    package func takings(of account: AccountID, at providers: Set<ProviderID>) -> Takings {
        let scopes = [KillScope.all, .account(account)] + providers.map { KillScope.provider($0) }
        let takings = scopes.compactMap { self.marks[$0]?.takings }
        return Takings(kill: takings.compactMap(\.kill).max(), removal: takings.compactMap(\.removal).max())
    }

    /// Judges a pass.
    package func verdict(on pass: Pass) -> Verdict {
        self.verdict(on: pass.stamp, of: pass.account, at: pass.provider, formerly: pass.formerProviders)
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
        self.marks[scope]?.isKilled == true || self.ordered[scope] != nil
    }

    /// As ``isKilled(_:)``, by the log alone.
    package func holds(_ scope: KillScope) -> Bool { self.marks[scope]?.isKilled == true }

    /// Scopes that are killed now.
    package var killed: Set<KillScope> {
        Set(self.ordered.keys).union(self.marks.lazy.filter(\.value.isKilled).map(\.key))
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

    /// The stamp as far as it counts here: a writer that had read another entry of that number went by a log that was lost,
    /// and nobody knows from where on.
    ///
    /// - Parameter entry: which the writer had read; `nil` where none is noted.
    package func counted(_ stamp: Epoch, by entry: KillID?) -> Epoch {
        guard let entry, let own = self.entries[stamp], own != entry else { return stamp }
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
        let before = self.marks[scope]
        self.marks[scope] = Mark(
            epoch: epoch,
            isKilled: holds || before?.isKilled == true,
            abortEpoch: streams == .abort ? epoch : before?.abortEpoch ?? .start,
            takings: Takings(
                kill: holds ? epoch : before?.takings.kill,
                removal: holds ? before?.takings.removal : epoch
            )
        )
    }

    /// Entry `epoch`, behind the last: new tokens of `scope` may come. What was dead stays dead.
    package mutating func lift(_ scope: KillScope, at epoch: Epoch) {
        self.last = epoch
        self.marks[scope]?.isKilled = false
    }

    /// Entry `epoch`, behind the last, kills nothing.
    package mutating func pass(_ epoch: Epoch) { self.last = epoch }

    /// The scopes of all orders that do not stand in the log yet, in place of those there were.
    package mutating func order(_ scopes: [KillScope: KillStreams]) { self.ordered = scopes }
}
