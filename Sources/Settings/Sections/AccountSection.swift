internal import TokenModel

/// The keys of one account.
enum AccountKey: String, Vocabulary {
    case provider, grant, scopes, max, username, password, assertion
}

extension AccountSettings.Grant: Vocabulary {}

extension AccountSettings {
    /// Reads one account; `nil` if it has no provider.
    ///
    /// - Parameter providers: the names of all providers; `nil` if they can't be determined.
    init?(_ name: String, _ place: Place, providers: [String]?) {
        place.checkName(name)
        guard let section = Section<AccountKey>(place) else { return nil }
        // A wrong grant is already reported, so keys that depend on it get no fault.
        let grant = section.has(.grant) ? section.read(.grant) { $0.choice(Grant.self) } : .refreshToken
        self.id = AccountID(name)
        self.grant = grant ?? .refreshToken
        self.owner = Owner(section, of: grant)
        self.assertion = Assertion(section, of: grant)
        self.scopes = section.read(.scopes) { $0.scopes() } ?? []
        section[.max]?.faultAtKey("is for a family of accounts, such as customer-*")
        guard let provider = section.require(.provider, { $0.reference(to: "provider", among: providers) }) else {
            return nil
        }
        self.provider = ProviderID(provider)
    }
}

extension Place {
    /// A reference to something else in the file by its name.
    func reference(to kind: String, among names: [String]?) -> String? {
        guard let name = self.text("the name of the \(kind)") else { return nil }
        if let names, !names.contains(name) {
            self.fault("there is no such \(kind)" + Self.hint(for: name, among: names))
        }
        return name
    }

    /// A suggestion for an unknown name.
    private static func hint(for name: String, among names: [String]) -> String {
        if let meant = Suggestion.closest(to: name, among: names) { return ", did you mean \"\(meant)\"?" }
        switch names.count {
        case 0: return ""
        case 1: return ", there is only \(names[0])"
        // A list with more than ten names would help nobody.
        case ...10: return ", there are \(names.joined(separator: ", "))"
        default: return ""
        }
    }

    /// A list of scopes.
    func scopes() -> [String]? { self.items()?.compactMap { $0.scope() } }

    /// One `scope-token` (RFC 6749 §3.3).
    private func scope() -> String? {
        self.parsed("a scope") { text throws(ValueError) in
            guard !text.contains(" ") else { throw ValueError("is several scopes, write them as items of the list") }
            guard text.utf8.allSatisfy({ $0.isPrintable && $0 != 0x22 && $0 != 0x5C }) else {
                throw ValueError("is not a scope: printable ASCII without \" and \\ only")
            }
            return text
        }
    }
}

/// The keys of an account's `assertion`.
enum AssertionSectionKey: String, Vocabulary {
    case issuer, subject, audience
    case privateKey = "private_key"
}

extension AccountSettings.Owner {
    /// `nil` for other grants, which must not have these keys, and if a key is missing or wrong.
    init?(_ section: Section<AccountKey>, of grant: AccountSettings.Grant?) {
        guard grant == .password else {
            for key in [AccountKey.username, .password] where grant != nil {
                section[key]?.faultAtKey("is for grant: password")
            }
            return nil
        }
        let username = section.require(.username) { ClientSecret($0) }
        let password = section.require(.password) { ClientSecret($0) }
        guard let username, let password else { return nil }
        self.init(username: username, password: password)
    }
}

extension AccountSettings.Assertion {
    /// `nil` for other grants, which must not have this key, and if something is missing or wrong.
    init?(_ section: Section<AccountKey>, of grant: AccountSettings.Grant?) {
        guard grant == .jwtBearer else {
            if grant != nil { section[.assertion]?.faultAtKey("is for grant: jwt-bearer") }
            return nil
        }
        guard let inner = section.require(.assertion, { Section<AssertionSectionKey>($0) }) else { return nil }
        let issuer = inner.require(.issuer) { $0.text() }
        let key = inner.require(.privateKey) { SigningKeySettings($0) }
        let subject = inner.read(.subject) { $0.text() }
        let audience = inner.read(.audience) { $0.text() }
        guard let issuer, let key else { return nil }
        self.init(issuer: issuer, subject: subject, audience: audience, key: key)
    }
}
