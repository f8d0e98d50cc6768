/// All account names that begin with a prefix, which the configuration gives as one: `customer-*`.
///
/// Members come and go at run time. An account of a family exists from its import or sign-in to its removal.
package struct AccountFamily: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// At least one character; without the star.
    package let prefix: String

    /// The longest name of an account, in bytes.
    package static let longestName = 128

    /// - Parameter pattern: a prefix and one star at the end.
    /// - Returns: `nil` for any other text.
    package init?(pattern: String) {
        guard pattern.utf8.last == UInt8(ascii: "*") else { return nil }
        let prefix = String(pattern.dropLast())
        guard AccountID(prefix).isMemberName, prefix.utf8.count < Self.longestName else { return nil }
        self.prefix = prefix
    }

    /// As the configuration gives it, with the star.
    package var description: String { self.prefix + "*" }

    /// Whether `account` has this prefix, something behind it, and only characters that a name may have.
    package func contains(_ account: AccountID) -> Bool {
        account.rawValue.utf8.count > self.prefix.utf8.count && account.rawValue.utf8.starts(with: self.prefix.utf8)
            && account.isMemberName
    }

    package static func < (left: AccountFamily, right: AccountFamily) -> Bool { left.prefix < right.prefix }
}

extension AccountID {
    /// Whether this can be the name of an account in a family: 1 to 128 ASCII letters, digits, and `.` `_` `@` `-` behind
    /// the first.
    package var isMemberName: Bool {
        let bytes = self.rawValue.utf8
        guard let first = bytes.first, bytes.count <= AccountFamily.longestName else { return false }
        return Self.isAlphanumeric(first)
            && bytes.allSatisfy { Self.isAlphanumeric($0) || $0 == 0x2E || $0 == 0x5F || $0 == 0x40 || $0 == 0x2D }
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
    }
}

/// Some accounts, as a list of accounts in the configuration says: one name, or all names with a prefix.
package enum AccountPattern: Hashable, Sendable, CustomStringConvertible {
    case name(AccountID)
    case family(AccountFamily)

    package func covers(_ account: AccountID) -> Bool {
        switch self {
        case .name(let name): name == account
        case .family(let family): family.contains(account)
        }
    }

    /// Whether every account that `family` contains is covered.
    package func coversAll(of family: AccountFamily) -> Bool {
        switch self {
        case .name: false
        case .family(let own): family.prefix.utf8.starts(with: own.prefix.utf8)
        }
    }

    package var description: String {
        switch self {
        case .name(let name): name.rawValue
        case .family(let family): family.description
        }
    }
}

/// A value for each configured account and for each family. A name of its own counts before a family, and a longer prefix
/// before a shorter one.
package struct AccountMap<Value: Sendable>: Sendable {
    /// The accounts that are configured by name.
    package private(set) var named: [AccountID: Value]
    /// The families, those with the longest prefixes first.
    package private(set) var families: [(family: AccountFamily, value: Value)]

    /// If a name or a family occurs twice, the later one counts.
    package init(_ named: [(AccountID, Value)] = [], families: [(AccountFamily, Value)] = []) {
        self.named = Dictionary(named) { _, later in later }
        self.families = Dictionary(families) { _, later in later }
            .map { (family: $0, value: $1) }
            .sorted { ($1.family.prefix.utf8.count, $0.family) < ($0.family.prefix.utf8.count, $1.family) }
    }

    package subscript(account: AccountID) -> Value? {
        if let value = self.named[account] { return value }
        return self.families.first { $0.family.contains(account) }?.value
    }

    /// The family that gives the account its value; `nil` for an account that is configured by name or not at all.
    package func family(of account: AccountID) -> AccountFamily? {
        guard self.named[account] == nil else { return nil }
        return self.families.first { $0.family.contains(account) }?.family
    }

    /// The values of all names and families.
    package var values: [Value] { Array(self.named.values) + self.families.map(\.value) }
}
