/// The keys of an account's `assertion`.
enum AssertionSectionKey: String, Vocabulary {
    case issuer, subject, audience
    case privateKey = "private_key"
}

extension AccountSettings.Owner {
    /// `nil` for other grants, which must not have such keys, and where one is missing or wrong.
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
    /// `nil` for other grants, which must not have such a key, and where something is missing or wrong.
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
