internal import TokenModel

/// The keys of a route's `account` if that is not a name.
enum RouteAccountKey: String, Vocabulary {
    case fromHeader = "from_header"
}

extension RouteAccount {
    /// Reads a route's `account`: a name, or the header field in which requests name it.
    ///
    /// - Parameters:
    ///   - names: the names of all accounts; `nil` if they can't be determined.
    ///   - hasCallers: whether the file names callers.
    init?(_ place: Place, among names: [String]?, hasCallers: Bool) {
        guard case .mapping = place.content else {
            guard let name = place.reference(to: "account", among: names) else { return nil }
            self = .fixed(AccountID(name))
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
        if names?.isEmpty == true { place.faultAtKey("there is no account to choose") }
        guard isRead != nil else { return nil }
        self = .fromHeader
    }
}

extension RouteSettings {
    /// The accounts whose tokens the route may send to its upstream.
    ///
    /// - Parameters:
    ///   - all: all accounts.
    ///   - callers: the callers that may choose an account.
    func accounts(among all: [AccountID], for callers: [CallerSettings]) -> Set<AccountID> {
        switch self.account {
        case .fixed(let account): return [account]
        case .fromHeader:
            return callers.filter { $0.routes?.contains(self.name) != false }
                .reduce(into: []) { reached, caller in
                    reached.formUnion(all.filter { one in caller.accounts?.contains { $0.covers(one) } != false })
                }
        }
    }
}
