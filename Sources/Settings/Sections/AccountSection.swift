internal import TokenModel

/// The keys of one account.
enum AccountKey: String, Vocabulary {
    case provider, grant, scopes, username, password, assertion
}

extension AccountSettings.Grant: Vocabulary {}

extension AccountSettings {
    /// Reads one account; `nil` if it has no provider.
    /// - Parameter providers: the names there are; `nil` if that can't be told.
    init?(_ name: String, _ place: Place, providers: [String]?) {
        place.checkName(name)
        guard let section = Section<AccountKey>(place) else { return nil }
        // A grant that is wrong has had its fault: what would go with it gets no other.
        let grant = section.has(.grant) ? section.read(.grant) { $0.choice(Grant.self) } : .refreshToken
        self.id = AccountID(name)
        self.grant = grant ?? .refreshToken
        self.owner = Owner(section, of: grant)
        self.assertion = Assertion(section, of: grant)
        self.scopes = section.read(.scopes) { place in place.items()?.compactMap { $0.scope() } } ?? []
        guard let provider = section.require(.provider, { $0.reference(to: "provider", among: providers) }) else {
            return nil
        }
        self.provider = ProviderID(provider)
    }
}

extension Place {
    /// The name of something else in the file.
    func reference(to kind: String, among names: [String]?) -> String? {
        guard let name = self.text("the name of the \(kind)") else { return nil }
        if let names, !names.contains(name) {
            self.fault("there is no such \(kind)" + Self.hint(for: name, among: names))
        }
        return name
    }

    /// What could stand there instead of a name that nothing has.
    private static func hint(for name: String, among names: [String]) -> String {
        if let meant = Suggestion.closest(to: name, among: names) { return ", did you mean \"\(meant)\"?" }
        switch names.count {
        case 0: return ""
        case 1: return ", there is only \(names[0])"
        // A list that nobody would read says less than none.
        case ...10: return ", there are \(names.joined(separator: ", "))"
        default: return ""
        }
    }

    /// One `scope-token` (RFC 6749 §3.3).
    fileprivate func scope() -> String? {
        self.parsed("a scope") { text throws(ValueError) in
            guard !text.contains(" ") else { throw ValueError("is several scopes, write them as items of the list") }
            guard text.utf8.allSatisfy({ $0.isPrintable && $0 != 0x22 && $0 != 0x5C }) else {
                throw ValueError("is not a scope: printable ASCII without \" and \\ only")
            }
            return text
        }
    }
}
