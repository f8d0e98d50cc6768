internal import Synchronization
package import TokenModel

/// The stored accounts that are not configured by name, in memory: members of families, and accounts that the
/// configuration does not have any more. A name that is not here costs no read of the store.
///
/// It has a lock of its own, which is held for a moment only, so that event loops may ask it too.
package final class AccountIndex: Sendable {
    private struct State {
        /// By a hash of the name: whoever goes through all accounts copies one part at a time, and a change meanwhile copies
        /// no more than that part.
        var parts = [[AccountID: IndexedAccount]](repeating: [:], count: AccountIndex.partCount)
        /// How many accounts exist.
        var counts: [AccountFamily: Int] = [:]
        /// The accounts that are about to exist, each with the number of its imports.
        var reserved: [AccountFamily: [AccountID: Int]] = [:]
        var plans: AccountPlans
    }

    private static let partCount = 64
    private let state: Mutex<State>

    package init(_ plans: AccountPlans) { self.state = Mutex(State(plans: plans)) }

    /// What is known of an account; `nil` if the store has none of that name.
    package subscript(account: AccountID) -> IndexedAccount? {
        self.state.withLock { $0.parts[Self.part(of: account)][account] }
    }

    /// Whether an account of that name was imported or signed in and not removed since, or is configured by name.
    package func exists(_ account: AccountID) -> Bool {
        self.state.withLock { state in
            state.parts[Self.part(of: account)][account]?.exists ?? state.plans.isNamed(account)
        }
    }

    /// How many accounts of a family exist.
    package func count(of family: AccountFamily) -> Int { self.state.withLock { $0.counts[family] ?? 0 } }

    /// How many accounts there are, those too that were removed.
    package var count: Int { self.state.withLock { $0.parts.reduce(0) { $0 + $1.count } } }

    /// Takes over what is known of an account now.
    package func set(_ known: IndexedAccount, for account: AccountID) {
        self.state.withLock { state in
            let old = state.parts[Self.part(of: account)].updateValue(known, forKey: account)
            let change = (known.exists ? 1 : 0) - (old?.exists == true ? 1 : 0)
            guard change != 0, let family = state.plans.family(of: account) else { return }
            state.counts[family, default: 0] += change
            // It is not counted twice until its place is given back.
            if known.exists { state.reserved[family]?[account] = nil }
        }
    }

    /// Reserves a place for an account that does not exist yet. It must be given back, whether the account exists then
    /// or not.
    ///
    /// - Returns: whether there was a place.
    package func reserve(_ account: AccountID, in family: AccountFamily) -> Bool {
        self.state.withLock { state in
            let reserved = state.reserved[family] ?? [:]
            let taken = (state.counts[family] ?? 0) + reserved.count
            guard reserved[account] != nil || taken < state.plans.families[family]?.max ?? 0 else { return false }
            state.reserved[family, default: [:]][account, default: 0] += 1
            return true
        }
    }

    /// Gives a reserved place back.
    package func giveBack(_ account: AccountID, in family: AccountFamily) {
        self.state.withLock { state in
            guard let imports = state.reserved[family]?[account] else { return }
            state.reserved[family]?[account] = imports > 1 ? imports - 1 : nil
        }
    }

    /// Counts by other families from now on. Accounts that are configured by name leave the index.
    package func reload(_ plans: AccountPlans) {
        self.state.withLock { state in
            state.plans = plans
            state.counts = [:]
            for account in plans.names { state.parts[Self.part(of: account)][account] = nil }
            for part in state.parts {
                for (account, known) in part where known.exists {
                    if let family = plans.family(of: account) { state.counts[family, default: 0] += 1 }
                }
            }
        }
    }

    /// Calls `body` with each account. Accounts that change meanwhile may be passed as they were before.
    package func forEach(_ body: (AccountID, IndexedAccount) -> Void) {
        for index in 0..<Self.partCount {
            for (account, known) in self.state.withLock({ $0.parts[index] }) { body(account, known) }
        }
    }

    private static func part(of account: AccountID) -> Int { account.hashValue & (Self.partCount - 1) }
}
