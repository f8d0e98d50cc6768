import Proxy
import TokenModel

/// What tests of accounts of families have in common.
enum Families {
    /// Covers `customer-1`, `customer-2` and so on.
    static let customers = patterns("customer-*")
    static let first = AccountID("customer-1")
    static let second = AccountID("customer-2")

    static func patterns(_ texts: String...) -> [AccountPattern] {
        texts.map { text in AccountFamily(pattern: text).map { .family($0) } ?? .name(AccountID(text)) }
    }

    static func field(_ account: AccountID = first) -> String { "Martlet-Account: \(account)\r\n" }
}

/// What stands for the accounts of families, in the place of the table that all event loops share.
final class MemberBook {
    var standing: [AccountID: CredentialTable.Standing] = [:]
    /// The names that were asked for.
    private(set) var asked: [AccountID] = []

    func ask(_ account: AccountID) -> CredentialTable.Standing? {
        self.asked.append(account)
        return self.standing[account]
    }
}
