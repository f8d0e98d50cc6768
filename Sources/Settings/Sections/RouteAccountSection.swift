internal import TokenModel

/// The keys of a route's `account` if that is not a name.
enum RouteAccountKey: String, Vocabulary {
    case fromHeader = "from_header"
}

extension RouteAccount {
    /// Reads a route's `account`: a name, or the header field in which requests name it.
    ///
    /// - Parameters:
    ///   - accounts: all accounts; `nil` if they can't be determined.
    ///   - hasCallers: whether the file names callers.
    init?(_ place: Place, among accounts: ConfiguredAccounts?, hasCallers: Bool) {
        guard case .mapping = place.content else {
            guard let account = place.account(among: accounts) else { return nil }
            self = .fixed(account)
            return
        }
        guard let section = Section<RouteAccountKey>(place) else { return nil }
        let isRead: Void? = section.require(.fromHeader) { place in
            place.parsed("the name of a field") { text throws(ValueError) in
                guard text.lowercased() == Self.headerName.lowercased() else {
                    throw ValueError("must be \(Self.headerName), the one field that never goes upstream")
                }
            }
        }
        if !hasCallers, let place = section[.fromHeader] {
            place.faultAtKey("needs callers: without them anybody could choose any account")
        }
        if accounts?.all.isEmpty == true { place.faultAtKey("there is no account to choose") }
        guard isRead != nil else { return nil }
        self = .fromHeader
    }
}

extension RouteSettings {
    /// The accounts and families whose tokens the route may send to its upstream.
    ///
    /// - Parameters:
    ///   - configured: all accounts.
    ///   - callers: the callers that may choose an account.
    func accounts(among configured: ConfiguredAccounts, for callers: [CallerSettings]) -> Set<AccountPattern> {
        switch self.account {
        case .fixed(let account): return [.name(account)]
        case .fromHeader:
            return callers.filter { $0.routes?.contains(self.name) != false }
                .reduce(into: []) { reached, caller in
                    reached.formUnion(caller.accounts?.flatMap(configured.reached) ?? configured.all)
                }
        }
    }
}
