internal import OAuth
internal import TokenModel

/// The keys of a provider's `login`.
enum ProviderLoginKey: String, Vocabulary {
    case scopes, prompt, extra
    case redirectURI = "redirect_uri"
}

extension ProviderLoginSettings {
    /// Reads a provider's `login`. What it leaves out is the preset's, key by key.
    init(_ section: Section<ProviderLoginKey>, _ preset: inout PresetFilling) {
        self.scopes =
            section.read(.scopes) { $0.scopes() } ?? preset.fill(.scopes, of: section) { login in
                login.scopes.isEmpty ? nil : login.scopes
            } ?? []
        self.prompt = section.read(.prompt) { $0.text() } ?? preset.fill(.prompt, of: section) { $0.prompt }
        self.redirectURI = section.read(.redirectURI) { $0.redirectURI() } ?? .standard
        self.extra =
            section.read(.extra) { place in
                place.parameters(isReserved: AuthorizationRequest.isReserved)
            } ?? preset.fill(.extra, of: section) { $0.extra.isEmpty ? nil : $0.extra } ?? [:]
    }
}

/// The keys of the root's `login`.
enum LoginListenerKey: String, Vocabulary {
    case address, tls
    case redirectURI = "redirect_uri"
    case allowCleartext = "allow_cleartext"
}

extension LoginListenerSettings {
    /// Reads `login`; `nil` if a required value is missing or wrong.
    init?(
        _ place: Place,
        besides listeners: [ListenerSettings],
        _ admin: AdminSettings,
        _ metrics: MetricsSettings?
    ) {
        guard let section = Section<LoginListenerKey>(place) else { return nil }
        let address = section.require(.address) { place in
            section.has(.tls) || section.allows(.allowCleartext)
                ? place.listenerAddress()
                : place.loopbackAddress(or: "another needs tls, or allow_cleartext: true behind a proxy with TLS")
        }
        let redirectURI = section.require(.redirectURI) { $0.loginURI() }
        self.tls = section.read(.tls) { CertificateSettings($0) }
        if let address, let owner = Self.owner(of: address, listeners, admin, metrics) {
            section[.address]?.fault("is the address of \(owner) too")
        }
        guard let address, let redirectURI else { return nil }
        self.address = address
        self.redirectURI = redirectURI
    }

    /// What has this address already.
    private static func owner(
        of address: ListenerAddress,
        _ listeners: [ListenerSettings],
        _ admin: AdminSettings,
        _ metrics: MetricsSettings?
    ) -> String? {
        guard address.port != 0 else { return nil }
        if address == admin.address { return "admin" }
        if address == metrics?.address { return "metrics" }
        return address.owner(among: listeners)
    }

    /// Whether browsers that are sent to `uri` come to this listener.
    package func serves(_ uri: RedirectURI) -> Bool {
        uri.hasOrigin(of: self.redirectURI) && LoginPath.fault(of: uri.path) == nil
    }
}

/// The paths of the login listener.
private enum LoginPath {
    /// Why a redirect URI can't have the path; `nil` if it can.
    static func fault(of path: String) -> String? {
        guard path.hasPrefix("/login/"), path != "/login/" else {
            return "must have a path below /login/, such as /login/callback: nothing else is served there"
        }
        // In the normal form, no other spelling of a page's path is left.
        do throws(ValueError) { try PathForm.check(path.hasSuffix("/") ? path : path + "/") } catch {
            return "has a path that \(error.message)"
        }
        for page in ["/login/start", "/login/done"] where path.hasPrefix(page) {
            return "must not begin with \(page), which is a page of the gateway"
        }
        return nil
    }
}

extension Place {
    /// Where people sign in. A browser opens it, so `allow_cleartext`, which the operator sets for the gateway's own
    /// connections, doesn't apply.
    func signInEndpoint() -> HTTPURL? {
        guard let url = self.url() else { return nil }
        if url.isCleartext {
            self.fault(
                "must be https://, or http:// on loopback: people sign in there, and allow_cleartext is not for them"
            )
        }
        return url
    }

    fileprivate func redirectURI() -> RedirectURI? {
        self.parsed("a URL") { text throws(ValueError) in try RedirectURI(text) }
    }

    /// The redirect URI of the login listener.
    fileprivate func loginURI() -> RedirectURI? {
        guard let uri = self.redirectURI() else { return nil }
        guard let fault = LoginPath.fault(of: uri.path) else { return uri }
        self.fault(fault)
        return nil
    }
}

/// The rules of sign-ins that concern more than one part of the file.
enum LoginRules {
    /// What a scope `openid` without the provider's issuer lacks: the ID token would be accepted unchecked.
    static let issuerNeeded = "openid needs the provider's issuer, whose keys check the ID token"

    /// Reports accounts whose sign-in would bring an ID token that nothing can check.
    ///
    /// If only a preset says where people sign in, it is a warning: such an account may always have been given its
    /// tokens by import.
    static func check(
        _ accounts: [AccountsSection.Entry],
        _ providers: [ProviderSettings],
        at providerMembers: [Place.Member]
    ) {
        for account in accounts where account.grant == .refreshToken && account.scopes.contains("openid") {
            guard let provider = providers.first(where: { $0.id == account.provider }), provider.issuer == nil,
                let providerPlace = providerMembers.first(where: { $0.name == provider.id.rawValue })?.place,
                providerPlace.member(ProviderKey.issuer.rawValue) == nil,
                let place = account.place.member(AccountKey.scopes.rawValue)
            else { continue }
            let keys: [ProviderKey] = [.login, .authorizationEndpoint, .deviceAuthorizationEndpoint]
            if keys.contains(where: { providerPlace.member($0.rawValue) != nil }) {
                place.fault(Self.issuerNeeded)
            } else if provider.canSignIn {
                place.warn("\(Self.issuerNeeded): nobody can sign in without it")
            }
        }
    }

    /// Warns of redirect URIs that lead neither to a command nor to the gateway.
    static func check(
        _ providers: [ProviderSettings],
        at members: [Place.Member],
        besides listener: LoginListenerSettings
    ) {
        for provider in providers {
            let uri = provider.login.redirectURI
            guard !uri.isLoopback, !listener.serves(uri) else { continue }
            let login = members.first { $0.name == provider.id.rawValue }?.place.member(ProviderKey.login.rawValue)
            login?.member(ProviderLoginKey.redirectURI.rawValue)?.warn(
                "is not at the gateway's own login listener, so people can sign in with martlet login --paste only"
            )
        }
    }
}
