package import TokenModel

/// Which accounts are used only for a while after somebody has agreed.
package struct ApprovalSettings: Equatable, Sendable {
    /// Names of accounts, in which `*` stands for any characters.
    package let accounts: [String]
    /// How long an approval lasts.
    package let duration: Duration
    /// How long a request waits for an approval.
    package let wait: Duration

    /// Whether the account needs an approval.
    package func applies(to account: AccountID) -> Bool {
        self.accounts.contains { ApprovalPattern.matches(account.rawValue, $0) }
    }
}

extension GatewaySettings {
    /// The accounts that need an approval: those in the file, and of families those in `used`. A family has too many to list
    /// them all.
    package func accountsUnderApproval(including used: Set<AccountID>) -> [AccountID] {
        guard let rule = self.requireApproval else { return [] }
        let providers = self.accountProviders
        let members = used.filter { providers.family(of: $0) != nil }.sorted()
        return (self.accounts.map(\.id) + members).filter(rule.applies)
    }
}

/// Names of accounts with `*` in place of any characters.
enum ApprovalPattern {
    /// Whether the pattern matches the whole name. Takes time in proportion to both lengths' product at most.
    static func matches(_ name: String, _ pattern: String) -> Bool {
        let (name, pattern) = (Array(name.utf8), Array(pattern.utf8))
        var (at, next) = (0, 0)
        /// The last star, and how much of the name it stands for so far.
        var star: (next: Int, at: Int)?
        while at < name.count {
            if next < pattern.count, pattern[next] == UInt8(ascii: "*") {
                next += 1
                star = (next, at)
            } else if next < pattern.count, pattern[next] == name[at] {
                (at, next) = (at + 1, next + 1)
            } else if let last = star {
                (at, next) = (last.at + 1, last.next)
                star = (last.next, last.at + 1)
            } else {
                return false
            }
        }
        return pattern[next...].allSatisfy { $0 == UInt8(ascii: "*") }
    }

    /// Whether the pattern matches the account, or may match one of the family. Whatever a family's prefix leaves open, a
    /// star fits it: so only the text before the first star has to agree with the prefix.
    static func mayMatch(_ accounts: AccountPattern, _ pattern: String) -> Bool {
        switch accounts {
        case .name(let name): return Self.matches(name.rawValue, pattern)
        case .family(let family):
            let head = pattern.utf8.prefix { $0 != UInt8(ascii: "*") }
            guard head.count < pattern.utf8.count else { return family.contains(AccountID(pattern)) }
            return head.starts(with: family.prefix.utf8) || family.prefix.utf8.starts(with: head)
        }
    }

    static func check(_ pattern: String) throws(ValueError) {
        guard (1...AccountFamily.longestName).contains(pattern.utf8.count),
            pattern.utf8.allSatisfy({ $0.isASCIILetter || $0.isASCIIDigit || "*._-@".utf8.contains($0) })
        else { throw ValueError("a pattern has 1 to 128 letters, digits, dots, underscores, hyphens, @ or stars") }
    }
}
