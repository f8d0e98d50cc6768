internal import OAuth

extension ClientAuthentication: Vocabulary {}

/// What a provider's section says of how the client proves itself.
struct ClientSection {
    let secrets: [ClientSecret]
    let privateKey: SigningKeySettings?
    let assertionAudience: AssertionAudience
    let authentication: ClientAuthentication
    let identity: CertificateSettings?
    /// The provider's `tls`, which holds more than the client's certificate.
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

    /// What the file says, else what is there to prove it by suggests, in the way the preset knows.
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
