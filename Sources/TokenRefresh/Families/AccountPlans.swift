package import TokenModel

/// The configuration of a family: that of its members, and how many of them may exist.
package struct AccountFamilyConfiguration: Sendable {
    package let family: AccountFamily
    /// The configuration of a member, but for its name.
    package let member: AccountConfiguration
    /// The most accounts that may exist at once. Replicas that import at the same time may exceed it by what they import.
    package let max: Int

    /// - Parameter member: the configuration of the members; its account is replaced by each member's name.
    package init(_ family: AccountFamily, member: AccountConfiguration, max: Int) {
        self.family = family
        self.member = member
        self.max = max
    }
}

/// The configurations of all accounts. A member of a family has one only by its name, whether it exists or not:
/// ``AccountIndex`` knows which exist.
package struct AccountPlans: Sendable {
    private var map: AccountMap<AccountConfiguration>
    private(set) var families: [AccountFamily: AccountFamilyConfiguration]

    /// If a name or a family occurs twice, the later one counts.
    package init(_ named: [AccountConfiguration], families: [AccountFamilyConfiguration] = []) {
        self.map = AccountMap(named.map { ($0.account, $0) }, families: families.map { ($0.family, $0.member) })
        self.families = Dictionary(families.map { ($0.family, $0) }) { _, later in later }
    }

    subscript(account: AccountID) -> AccountConfiguration? { self.map[account]?.named(account) }

    /// The provider of an account; `nil` if it has no configuration.
    func provider(of account: AccountID) -> ProviderID? { self.map[account]?.provider }

    /// The configurations of the accounts that are configured by name.
    var named: Dictionary<AccountID, AccountConfiguration>.Values { self.map.named.values }

    /// The names of those.
    var names: Dictionary<AccountID, AccountConfiguration>.Keys { self.map.named.keys }

    /// One configuration for each account that is configured by name, and one for each family.
    var all: [AccountConfiguration] { self.map.values }

    /// The family that the account is a member of; `nil` for an account that is configured by name or not at all.
    func family(of account: AccountID) -> AccountFamily? { self.map.family(of: account) }

    func isNamed(_ account: AccountID) -> Bool { self.map.named[account] != nil }
}
