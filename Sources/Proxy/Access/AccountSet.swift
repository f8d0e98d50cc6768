package import TokenModel

/// Some accounts, prepared to be asked for each request.
package struct AccountSet: Sendable {
    private let names: Set<AccountID>
    private let families: [AccountFamily]

    package init(_ patterns: [AccountPattern]) {
        var (names, families) = (Set<AccountID>(), [AccountFamily]())
        for pattern in patterns {
            switch pattern {
            case .name(let account): names.insert(account)
            case .family(let family): families.append(family)
            }
        }
        self.names = names
        self.families = families
    }

    package func covers(_ account: AccountID) -> Bool {
        for family in self.families where family.contains(account) { return true }
        return self.names.contains(account)
    }
}
