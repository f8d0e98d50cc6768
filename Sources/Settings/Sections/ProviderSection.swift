internal import LocalFiles
internal import OAuth
internal import TokenModel

/// The keys of one provider.
enum ProviderKey: String, Vocabulary {
    case issuer, tls, timeout, refresh
    case tokenEndpoint = "token_endpoint"
    case revocationEndpoint = "revocation_endpoint"
    case clientID = "client_id"
    case clientSecret = "client_secret"
    case clientAuthentication = "client_auth"
    case defaultLifetime = "default_lifetime"
    case tokenParameters = "token_params"
    case keepAlive = "keep_alive"
    case refreshRate = "refresh_rate"
    case allowCleartext = "allow_cleartext"

    static let later = ["preset", "private_key"]
}

extension ClientAuthentication: Vocabulary {
    static let later = ["private_key_jwt", "tls_client_auth"]
}

extension ProviderSettings.Refresh: Vocabulary {}

extension ProviderSettings {
    /// Reads one provider; `nil` if what it can't be without is missing or wrong.
    init?(_ name: String, _ place: Place) {
        place.checkName(name)
        guard let section = Section<ProviderKey>(place) else { return nil }
        let allowsCleartext = section.allows(.allowCleartext)
        let endpoint = { (place: Place) in place.endpoint(allowsCleartext: allowsCleartext) }
        let secret = section.read(.clientSecret) { ClientSecret($0) }

        self.id = ProviderID(name)
        self.issuer = section.read(.issuer) { $0.issuer(allowsCleartext: allowsCleartext) }
        self.tokenEndpoint = section.read(.tokenEndpoint, endpoint)
        self.revocationEndpoint = section.read(.revocationEndpoint, endpoint)
        if !section.has(.issuer), !section.has(.tokenEndpoint) {
            section.missing("issuer or token_endpoint is missing")
        }
        self.clientSecret = secret
        self.clientAuthentication = Self.clientAuthentication(section)
        self.certificateAuthorities = section.section(.tls, of: ProviderTLSKey.self)
            .read(.certificateAuthorities) { $0.certificates() }
        self.timeout = section.read(.timeout) { $0.duration(in: .milliseconds(1) ... .seconds(10)) } ?? .seconds(8)
        self.defaultLifetime =
            section.read(.defaultLifetime) { $0.duration(in: .seconds(1) ... .hours(24)) } ?? .hours(1)
        self.tokenParameters = section.read(.tokenParameters) { $0.tokenParameters() } ?? [:]
        self.refresh = section.read(.refresh) { $0.choice(Refresh.self) } ?? .ahead
        self.keepAlive = section.read(.keepAlive) { $0.duration(in: .seconds(60) ... .hours(8760)) } ?? .hours(24)
        self.refreshRate = RefreshRateSettings(section.section(.refreshRate, of: RefreshRateKey.self))
        self.allowsCleartext = allowsCleartext
        guard let clientID = section.require(.clientID, { $0.text() }) else { return nil }
        self.clientID = clientID
    }

    /// What the file says, else what the secret's presence suggests.
    private static func clientAuthentication(_ section: Section<ProviderKey>) -> ClientAuthentication {
        let secret = section[.clientSecret]
        guard let place = section[.clientAuthentication] else { return secret == nil ? .none : .basic }
        guard let method = place.choice(ClientAuthentication.self) else { return .none }
        switch method {
        case .basic, .post:
            if !section.has(.clientSecret) { place.fault("\(method.rawValue) needs a client_secret, which is missing") }
        case .none:
            secret?.warn("is never sent, because client_auth is none")
        }
        return method
    }
}

extension Place {
    /// Reports a name, given as this place's key, that is not in the form of ``ConfiguredName``.
    func checkName(_ name: String) {
        do throws(ValueError) { try ConfiguredName.check(name) } catch { self.faultAtKey(error.message) }
    }

    /// An endpoint of a provider (RFC 6749 §3.2: it may have a query).
    fileprivate func endpoint(allowsCleartext: Bool) -> HTTPURL? {
        guard let url = self.url() else { return nil }
        self.refuseCleartext(to: url, unless: allowsCleartext)
        return url
    }

    /// An issuer, which has no query (RFC 8414 §2).
    fileprivate func issuer(allowsCleartext: Bool) -> HTTPURL? {
        guard let url = self.endpoint(allowsCleartext: allowsCleartext) else { return nil }
        if url.query != nil { self.fault("must not have a query") }
        return url
    }

    /// Reports a URL under which tokens would cross a network unencrypted without the operator's word for it.
    func refuseCleartext(to url: HTTPURL, unless allowed: Bool) {
        guard url.isCleartext, !allowed else { return }
        self.fault(
            "tokens would travel unencrypted to \(url.host.authority): use https:// or add allow_cleartext: true"
        )
    }

    /// What goes into each token request beside what the request itself decides.
    fileprivate func tokenParameters() -> [String: String]? {
        guard let members = self.members() else { return nil }
        var parameters: [String: String] = [:]
        for member in members {
            if member.name.isEmpty {
                member.place.faultAtKey("has no name")
            } else if TokenParameters.isReserved(member.name) {
                member.place.faultAtKey("is decided by the request itself and can't be set here")
            } else if let value = member.place.text(allowingEmpty: true) {
                parameters[member.name] = value
            }
        }
        return parameters
    }
}
