internal import OAuth
internal import SystemSupport
internal import TokenModel

/// The keys of one provider.
enum ProviderKey: String, Vocabulary {
    case preset, issuer, tls, timeout, refresh, login
    case answerTimeout = "answer_timeout"
    case tokenEndpoint = "token_endpoint"
    case revocationEndpoint = "revocation_endpoint"
    case authorizationEndpoint = "authorization_endpoint"
    case deviceAuthorizationEndpoint = "device_authorization_endpoint"
    case clientID = "client_id"
    case clientSecret = "client_secret"
    case clientAuthentication = "client_auth"
    case privateKey = "private_key"
    case defaultLifetime = "default_lifetime"
    case tokenParameters = "token_params"
    case keepAlive = "keep_alive"
    case refreshRate = "refresh_rate"
    case revokeRate = "revoke_rate"
    case allowCleartext = "allow_cleartext"
}

extension ProviderSettings.Refresh: Vocabulary {}

extension ProviderSettings {
    /// Reads one provider; `nil` if a required value is missing or wrong.
    init?(_ name: String, _ place: Place) {
        place.checkName(name)
        guard let section = Section<ProviderKey>(place) else { return nil }
        let allowsCleartext = section.allows(.allowCleartext)
        let endpoint = { (place: Place) in place.endpoint(allowsCleartext: allowsCleartext) }
        var preset = PresetFilling(section)
        let client = ClientSection(section, &preset)

        self.id = ProviderID(name)
        let issuer = section.read(.issuer) { $0.issuer(allowsCleartext: allowsCleartext) }
        self.issuer = issuer
        let named = section.read(.tokenEndpoint, endpoint)
        let namedRevocation = section.read(.revocationEndpoint, endpoint)
        let namedAuthorization = section.read(.authorizationEndpoint) { $0.signInEndpoint() }
        let namedDevice = section.read(.deviceAuthorizationEndpoint) { $0.signInEndpoint() }
        let filled = preset.endpoints(section)
        self.tokenEndpoint = named ?? filled.token
        self.revocationEndpoint = namedRevocation ?? filled.revocation
        self.authorizationEndpoint = namedAuthorization ?? filled.authorization
        self.deviceAuthorizationEndpoint = namedDevice ?? filled.deviceAuthorization
        self.clientSecrets = client.secrets
        self.privateKey = client.privateKey
        self.assertionAudience = AssertionAudience(
            token: client.assertionAudience.token
                ?? preset.audience(issuer, isNeeded: client.authentication == .privateKeyJWT),
            revocation: client.assertionAudience.revocation
        )
        self.clientAuthentication = client.authentication
        if client.authentication == .privateKeyJWT, self.assertionAudience == AssertionAudience(), issuer == nil,
            let tokenEndpoint = self.tokenEndpoint, let revocationEndpoint = self.revocationEndpoint,
            let fault = AssertionRules.fault(of: revocationEndpoint, beside: tokenEndpoint)
        {
            section[.revocationEndpoint]?.fault(fault)
        }
        self.identity = client.identity
        self.certificateAuthorities = client.tls.read(.certificateAuthorities) { $0.certificates() }
        let timeout = section.read(.timeout) { $0.duration(in: .milliseconds(1) ... .seconds(15)) } ?? .seconds(8)
        self.timeout = timeout
        // A shorter time than `timeout` would drop a response that a caller still waits for.
        self.answerTimeout =
            section.read(.answerTimeout) { $0.duration(in: timeout ... .minutes(5)) }
            ?? preset.fill(.answerTimeout, of: section) { facts in
                facts.rotation == .unknown ? nil : facts.rotation.answerTimeout(atLeast: timeout)
            } ?? RefreshTokenRotation.unknown.answerTimeout(atLeast: timeout)
        self.defaultLifetime =
            section.read(.defaultLifetime) { $0.duration(in: .seconds(1) ... .hours(24)) }
            ?? preset.fill(.defaultLifetime, of: section) { $0.defaultLifetime } ?? .hours(1)
        self.tokenParameters =
            section.read(.tokenParameters) { $0.parameters(isReserved: TokenParameters.isReserved) } ?? [:]
        self.refresh =
            section.read(.refresh) { $0.choice(Refresh.self) }
            ?? preset.fill(.refresh, of: section) { $0.refreshKillsAccessToken ? Refresh.onExpiry : nil } ?? .ahead
        self.keepAlive = section.read(.keepAlive) { $0.duration(in: .seconds(60) ... .hours(8760)) } ?? .hours(24)
        self.refreshRate = RequestRateSettings(section.section(.refreshRate, of: RequestRateKey.self))
        self.revokeRate = RequestRateSettings(section.section(.revokeRate, of: RequestRateKey.self))
        let login = section.section(.login, of: ProviderLoginKey.self)
        self.login = ProviderLoginSettings(login, &preset)
        if self.login.scopes.contains("openid"), !section.has(.issuer) {
            login[.scopes]?.fault(LoginRules.issuerNeeded)
        }
        self.allowsCleartext = allowsCleartext
        self.preset = preset.settings
        guard let clientID = section.require(.clientID, { $0.text() }) else { return nil }
        self.clientID = clientID
    }
}

extension Place {
    /// Reports a name, given as this place's key, that doesn't have the form of ``ConfiguredName``.
    func checkName(_ name: String) {
        do throws(ValueError) { try ConfiguredName.check(name) } catch { self.faultAtKey(error.message) }
    }

    /// An endpoint of a provider (RFC 6749 §3.2: it may have a query).
    fileprivate func endpoint(allowsCleartext: Bool) -> HTTPURL? {
        guard let url = self.url() else { return nil }
        self.refuseCleartext(to: url, unless: allowsCleartext)
        return url
    }

    /// An issuer, which must not have a query (RFC 8414 §2).
    fileprivate func issuer(allowsCleartext: Bool) -> HTTPURL? {
        guard let url = self.endpoint(allowsCleartext: allowsCleartext) else { return nil }
        if url.query != nil { self.fault("must not have a query") }
        return url
    }

    /// Reports a URL to which tokens would travel unencrypted without the operator's permission.
    func refuseCleartext(to url: HTTPURL, unless allowed: Bool) {
        guard url.isCleartext, !allowed else { return }
        self.fault(
            "tokens would travel unencrypted to \(url.host.authority): use https:// or add allow_cleartext: true"
        )
    }

    /// Additional parameters of a request. Parameters that the request itself sets are faults.
    func parameters(isReserved: (String) -> Bool) -> [String: String]? {
        guard let members = self.members() else { return nil }
        var parameters: [String: String] = [:]
        for member in members {
            if member.name.isEmpty {
                member.place.faultAtKey("has no name")
            } else if isReserved(member.name) {
                member.place.faultAtKey("is decided by the request itself and can't be set here")
            } else if let value = member.place.text(allowingEmpty: true) {
                parameters[member.name] = value
            }
        }
        return parameters
    }
}

/// The keys of a provider's `refresh_rate` and `revoke_rate`.
enum RequestRateKey: String, Vocabulary {
    case burst
    case perSecond = "per_second"
}

extension RequestRateSettings {
    init(_ section: Section<RequestRateKey>) {
        self.perSecond = section.read(.perSecond) { $0.count(in: 1...100_000) } ?? Self.standard.perSecond
        self.burst = section.read(.burst) { $0.count(in: 1...1_000_000) } ?? Self.standard.burst
    }
}

extension ClientAuthentication: Vocabulary {}

/// The client authentication settings of a provider's section.
struct ClientSection {
    let secrets: [ClientSecret]
    let privateKey: SigningKeySettings?
    let assertionAudience: AssertionAudience
    let authentication: ClientAuthentication
    let identity: CertificateSettings?
    /// The provider's `tls`, which contains more than the client's certificate.
    let tls: Section<ProviderTLSKey>

    init(_ section: Section<ProviderKey>, _ preset: inout PresetFilling) {
        let key = section.read(.privateKey) { SigningKeySettings.client($0) }
        self.tls = section.section(.tls, of: ProviderTLSKey.self)
        self.secrets = section.read(.clientSecret) { ClientSecret.list($0) } ?? []
        self.privateKey = key?.key
        self.assertionAudience = key?.audience ?? AssertionAudience()
        self.identity = CertificateSettings(optional: self.tls[.certificate], self.tls[.key])
        self.authentication = Self.authentication(section, self.tls, &preset)
    }

    /// The configured method. Without one, the method that fits the secret or key in the file, with the preset's
    /// preference.
    private static func authentication(
        _ section: Section<ProviderKey>,
        _ tls: Section<ProviderTLSKey>,
        _ preset: inout PresetFilling
    ) -> ClientAuthentication {
        guard let place = section[.clientAuthentication] else {
            switch (section[.clientSecret], section[.privateKey]) {
            case (_?, let key?):
                key.fault("stands beside client_secret: client_auth must say which of them is used")
                return .privateKeyJWT
            case (nil, _?):
                return .privateKeyJWT
            case (_?, nil):
                return preset.fill(.clientAuthentication, of: section) { facts in
                    facts.clientAuthentication.flatMap { ClientAuthentication(rawValue: $0) }
                } ?? .basic
            case (nil, nil):
                return .none
            }
        }
        guard let method = place.choice(ClientAuthentication.self) else { return .none }
        let needed: (isThere: Bool, name: String) =
            switch method {
            case .basic, .post: (section.has(.clientSecret), "a client_secret, which is missing")
            case .privateKeyJWT: (section.has(.privateKey), "a private_key, which is missing")
            case .tlsClientAuth:
                (tls.has(.certificate) || tls.has(.key), "tls.certificate and tls.key, which are missing")
            case .none: (true, "")
            }
        if !needed.isThere { place.fault("\(method.rawValue) needs \(needed.name)") }
        if method != .privateKeyJWT {
            section[.privateKey]?.fault("is for client_auth: private_key_jwt, and client_auth is \(method.rawValue)")
        }
        if method != .basic, method != .post {
            section[.clientSecret]?.warn("is never sent, because client_auth is \(method.rawValue)")
        }
        return method
    }
}
