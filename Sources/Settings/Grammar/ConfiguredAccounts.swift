internal import TokenModel

/// The names and families of all accounts in a file, even of those with faults, for the parts of the file that refer to
/// accounts.
struct ConfiguredAccounts {
    var names: [AccountID] = []
    var families: [AccountFamily] = []

    var all: [AccountPattern] { self.names.map { .name($0) } + self.families.map { .family($0) } }

    /// The names and families with at least one account that `pattern` covers. An account belongs to the family with the
    /// longest prefix, so `customer-eu-*` covers nothing of `customer-*` where it is a family itself.
    func reached(by pattern: AccountPattern) -> [AccountPattern] {
        switch pattern {
        case .name(let name):
            if self.names.contains(name) { return [pattern] }
            return self.family(of: name).map { [.family($0)] } ?? []
        case .family(let wanted):
            let owner = self.longest { wanted.prefix.utf8.starts(with: $0.prefix.utf8) }
            return self.all.filter { one in
                switch one {
                case .name(let name): wanted.contains(name)
                case .family(let family): family == owner || pattern.coversAll(of: family)
                }
            }
        }
    }

    /// The family that an account without a name of its own belongs to.
    func family(of account: AccountID) -> AccountFamily? { self.longest { $0.contains(account) } }

    private func longest(where fits: (AccountFamily) -> Bool) -> AccountFamily? {
        self.families.filter(fits).max { $0.prefix.utf8.count < $1.prefix.utf8.count }
    }
}

extension AccountFamily {
    /// Parses the pattern of a family, and says what is wrong with it.
    static func parse(_ text: String) throws(ValueError) -> AccountFamily {
        guard text != "*" else { throw ValueError("needs a character before the star: it would cover all accounts") }
        guard text.last == "*", text.count(where: { $0 == "*" }) == 1 else {
            throw ValueError("must have one star, at its end, such as customer-*")
        }
        guard let family = AccountFamily(pattern: text) else {
            throw ValueError(
                "a family's prefix has 1 to 127 letters, digits, dots, underscores, hyphens or @, a letter or digit first"
            )
        }
        return family
    }
}

extension AccountPattern {
    /// Parses a name or the pattern of a family. Any text without a star passes for a name.
    static func parse(_ text: String) throws(ValueError) -> AccountPattern {
        text.contains("*") ? .family(try AccountFamily.parse(text)) : .name(AccountID(text))
    }
}

extension Place {
    /// One account by its name.
    func account(among accounts: ConfiguredAccounts?) -> AccountID? {
        guard let accounts, case .text(let name, _) = self.content, !accounts.names.contains(AccountID(name)) else {
            return self.reference(to: "account", among: accounts?.names.map(\.rawValue)).map { AccountID($0) }
        }
        if name.contains("*") {
            self.fault("is more than one account: with { from_header: Martlet-Account } each request names one")
        } else if let family = accounts.family(of: AccountID(name)) {
            self.fault(
                "is of the family \(family), and may not exist: list it in accounts by its name, or use "
                    + "{ from_header: Martlet-Account }"
            )
        } else {
            return self.reference(to: "account", among: accounts.all.map(\.description)).map { AccountID($0) }
        }
        return nil
    }

    /// A name or pattern that covers at least one account or a part of a family.
    func accounts(among accounts: ConfiguredAccounts?) -> AccountPattern? {
        guard let pattern = self.parsed("the name of an account", by: AccountPattern.parse) else { return nil }
        if let accounts, accounts.reached(by: pattern).isEmpty {
            _ = self.reference(to: "account", among: accounts.all.map(\.description))
        }
        return pattern
    }
}
