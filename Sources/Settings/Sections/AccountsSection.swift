internal import TokenModel

/// The members of `accounts`: accounts by their names, and families.
struct AccountsSection {
    /// An account or family, for rules that concern more than one part of the file.
    struct Entry {
        let pattern: AccountPattern
        let provider: ProviderID
        let grant: AccountSettings.Grant
        let scopes: [String]
        let place: Place
    }

    private(set) var accounts: [AccountSettings] = []
    private(set) var families: [AccountFamilySettings] = []
    private(set) var entries: [Entry] = []
    /// For references; `nil` if they can't be determined. Any of them may mean a family whose pattern can't be read.
    private(set) var configured: ConfiguredAccounts?

    /// - Parameters:
    ///   - members: `nil` if they can't be determined.
    ///   - providers: the names of all providers; `nil` if they can't be determined.
    init(_ members: [Place.Member]?, providers: [String]?) {
        guard let members else { return }
        var (names, families) = ([AccountID](), [AccountFamily?]())
        for member in members {
            if member.name.contains("*") {
                let family = member.place.family(member.name)
                families.append(family)
                AccountFamilySettings(family, member.place, providers: providers).map { self.add($0, at: member.place) }
            } else {
                names.append(AccountID(member.name))
                AccountSettings(member.name, member.place, providers: providers).map { self.add($0, at: member.place) }
            }
        }
        guard !families.contains(nil) else { return }
        self.configured = ConfiguredAccounts(names: names, families: families.compactMap { $0 })
    }

    private mutating func add(_ account: AccountSettings, at place: Place) {
        self.accounts.append(account)
        self.entries.append(
            Entry(
                pattern: .name(account.id),
                provider: account.provider,
                grant: account.grant,
                scopes: account.scopes,
                place: place
            )
        )
    }

    private mutating func add(_ family: AccountFamilySettings, at place: Place) {
        self.families.append(family)
        self.entries.append(
            Entry(
                pattern: .family(family.family),
                provider: family.provider,
                grant: .refreshToken,
                scopes: family.scopes,
                place: place
            )
        )
    }
}

extension AccountFamilySettings {
    /// Reads one family; `nil` if it has no provider, or if `family` is `nil`.
    fileprivate init?(_ family: AccountFamily?, _ place: Place, providers: [String]?) {
        guard let section = Section<AccountKey>(place) else { return nil }
        if let grant = section.read(.grant, { $0.choice(AccountSettings.Grant.self) }), grant != .refreshToken {
            section[.grant]?.fault(
                "must be refresh_token: an account of a family exists from its import or sign-in, and \(grant.rawValue) "
                    + "has neither"
            )
        }
        for key in [AccountKey.username, .password, .assertion] {
            section[key]?.faultAtKey("is for one account, which has a name of its own")
        }
        let scopes = section.read(.scopes) { $0.scopes() } ?? []
        let max = section.read(.max) { $0.count(in: 1...1_000_000) } ?? 10_000
        let provider = section.require(.provider) { $0.reference(to: "provider", among: providers) }
        guard let family, let provider else { return nil }
        self.init(family: family, provider: ProviderID(provider), scopes: scopes, max: max)
    }
}

extension Place {
    /// The family whose pattern is this place's key.
    fileprivate func family(_ pattern: String) -> AccountFamily? {
        do throws(ValueError) {
            return try AccountFamily.parse(pattern)
        } catch {
            self.faultAtKey(error.message)
            return nil
        }
    }
}
