internal import TokenModel

/// The keys of a route's `account`, where that is no name.
enum RouteAccountKey: String, Vocabulary {
    case fromHeader = "from_header"
}

extension RouteAccount {
    /// Reads a route's `account`: a name, or where requests name it.
    /// - Parameters:
    ///   - names: of the accounts there are; `nil` if that can't be told.
    ///   - hasCallers: whether callers are told apart.
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
    /// The accounts whose tokens it may send to its upstream.
    /// - Parameters:
    ///   - all: the accounts there are.
    ///   - callers: those who may choose.
    func accounts(among all: [AccountID], for callers: [CallerSettings]) -> Set<AccountID> {
        switch self.account {
        case .fixed(let account): return [account]
        case .fromHeader:
            return callers.filter { $0.routes?.contains(self.name) != false }
                .reduce(into: []) { $0.formUnion($1.accounts ?? all) }
        }
    }
}
