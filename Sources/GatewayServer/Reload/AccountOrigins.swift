package import Settings
package import TokenModel

/// The origin of each account's tokens, for all accounts since the start.
///
/// A request in progress keeps its old route but takes the account's current token. If that token came from another
/// issuer, the old upstream would receive a token meant for the new one.
package struct AccountOrigins: Sendable {
    private struct Origin: Equatable, Sendable {
        let issuer: HTTPURL?
        let tokenEndpoint: HTTPURL?
    }

    private var origins: AccountMap<Origin>

    package init(_ settings: GatewaySettings) {
        self.origins = Self.origins(of: settings)
    }

    /// The accounts and families whose tokens would come from another origin than before. An account can also move by
    /// getting a name of its own, or into or out of a family with a longer prefix.
    package func moved(in settings: GatewaySettings) -> [AccountPattern] {
        let new = Self.origins(of: settings)
        return self.patterns(and: new).filter { pattern in
            guard let before = self.origins[all: pattern], let after = new[all: pattern] else { return false }
            return before != after
        }
    }

    /// Remembers the origins of new accounts.
    package mutating func add(_ settings: GatewaySettings) {
        let new = Self.origins(of: settings)
        var (named, families): ([(AccountID, Origin)], [(AccountFamily, Origin)]) = ([], [])
        for pattern in self.patterns(and: new) {
            guard let origin = self.origins[all: pattern] ?? new[all: pattern] else { continue }
            switch pattern {
            case .name(let account): named.append((account, origin))
            case .family(let family): families.append((family, origin))
            }
        }
        self.origins = AccountMap(named, families: families)
    }

    /// All names and families here and in `other`, sorted. Accounts that differ in none of these have the same origins.
    private func patterns(and other: AccountMap<Origin>) -> [AccountPattern] {
        Set(self.origins.named.keys).union(other.named.keys).sorted().map { .name($0) }
            + Set((self.origins.families + other.families).map(\.family)).sorted().map { .family($0) }
    }

    private static func origins(of settings: GatewaySettings) -> AccountMap<Origin> {
        let origins = Dictionary(
            settings.providers.map { ($0.id, Origin(issuer: $0.issuer, tokenEndpoint: $0.tokenEndpoint)) }
        ) { first, _ in first }
        let providers = settings.accountProviders
        return AccountMap(
            providers.named.compactMap { account, provider in origins[provider].map { (account, $0) } },
            families: providers.families.compactMap { family, provider in origins[provider].map { (family, $0) } }
        )
    }
}

extension AccountMap {
    /// The value of an account, or of those accounts of a family that no longer prefix and no name covers.
    fileprivate subscript(all pattern: AccountPattern) -> Value? {
        switch pattern {
        case .name(let account): self[account]
        case .family(let family): self.families.first { family.prefix.utf8.starts(with: $0.family.prefix.utf8) }?.value
        }
    }
}
