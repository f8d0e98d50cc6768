package import TokenModel

/// What an administrator may do.
package enum AdministratorRole: Hashable, Sendable {
    /// All actions.
    case `operator`
    /// Reading, killing and purging caches. Only an operator can revive.
    case killer
    /// Reading.
    case viewer
    /// Giving these accounts tokens, by an import or a sign-in, and seeing what came of it. A program that signs up
    /// customers needs no more.
    case registrar(AccountPattern)

    /// - Parameter text: as in the admin token file, such as `viewer` or `registrar:customer-*`.
    /// - Returns: `nil` for any other text.
    package init?(_ text: String) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        switch (parts[0], parts.dropFirst().first) {
        case ("operator", nil): self = .operator
        case ("killer", nil): self = .killer
        case ("viewer", nil): self = .viewer
        case ("registrar", let accounts?):
            guard let accounts = Self.accounts(String(accounts)) else { return nil }
            self = .registrar(accounts)
        default: return nil
        }
    }

    /// The role in one word.
    package var word: String {
        switch self {
        case .operator: "operator"
        case .killer: "killer"
        case .viewer: "viewer"
        case .registrar: "registrar"
        }
    }

    /// The role as in the admin token file.
    package var text: String {
        guard case .registrar(let accounts) = self else { return self.word }
        return "\(self.word):\(accounts)"
    }

    /// How the roles are written in the admin token file.
    static let forms = "operator, killer, viewer, registrar:ACCOUNTS"

    /// The accounts of a registrar: a name, or a beginning of names with a star at its end.
    ///
    /// - Returns: `nil` for any other text. A star alone is none: that is what operators are for.
    package static func accounts(_ text: String) -> AccountPattern? {
        if let family = AccountFamily(pattern: text) { return .family(family) }
        let account = AccountID(text)
        return account.isMemberName ? .name(account) : nil
    }
}

/// A kind of action that needs a role.
enum AdminActionKind: Sendable {
    case reading
    /// What takes tokens or stored responses away, and gives nothing: kills and purges. An intruder with a token for it
    /// can stop callers, or cost an upstream requests, but can't get anything.
    case killing
    /// Giving an account tokens. It also needs a right to the account.
    case registering
    /// Seeing what came of that. It also needs a right to the account.
    case following
    /// All other actions.
    case changing
}

extension AdministratorRole {
    func permits(_ deed: AdminActionKind) -> Bool {
        switch (self, deed) {
        case (.operator, _), (.killer, .killing): true
        case (.killer, .reading), (.killer, .following), (.viewer, .reading), (.viewer, .following): true
        case (.registrar, .registering), (.registrar, .following): true
        case (.killer, .changing), (.killer, .registering): false
        case (.viewer, .killing), (.viewer, .changing), (.viewer, .registering): false
        case (.registrar, .reading), (.registrar, .killing), (.registrar, .changing): false
        }
    }

    /// Whether the role's actions on an account may be on this one.
    func covers(_ account: AccountID) -> Bool {
        guard case .registrar(let accounts) = self else { return true }
        return accounts.covers(account)
    }
}

extension Administrator? {
    /// Refuses an action on an account that is not this administrator's.
    func requireRight(to account: AccountID) throws(AdminError) {
        guard let self, !self.role.covers(account) else { return }
        throw .roleForbidden(self)
    }
}
