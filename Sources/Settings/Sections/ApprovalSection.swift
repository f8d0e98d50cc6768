internal import TokenModel

/// The keys of `require_approval`.
enum ApprovalKey: String, Vocabulary {
    case accounts, wait
    case duration = "for"
}

extension ApprovalSettings {
    /// Reads `require_approval`; `nil` if no accounts are named, or wrong ones.
    ///
    /// - Parameter accounts: all accounts; `nil` if they can't be determined.
    init?(_ place: Place, accounts: ConfiguredAccounts?) {
        guard let section = Section<ApprovalKey>(place) else { return nil }
        self.duration = section.read(.duration) { $0.duration(in: .seconds(1) ... .hours(24)) } ?? .seconds(900)
        self.wait = section.read(.wait) { $0.duration(in: .zero ... .seconds(300)) } ?? .seconds(30)
        guard let items = section.require(.accounts, { $0.items() }) else { return nil }
        if items.isEmpty { section[.accounts]?.fault("is empty; leave require_approval out if no account needs one") }
        self.accounts = items.compactMap { item in
            let pattern = item.parsed("the name of an account") { text throws(ValueError) in
                try ApprovalPattern.check(text)
                return text
            }
            if let pattern, let accounts, !accounts.all.contains(where: { ApprovalPattern.mayMatch($0, pattern) }) {
                item.warn("matches no account")
            }
            return pattern
        }
    }
}
