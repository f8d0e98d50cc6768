internal import OAuth
internal import TokenModel

extension ProviderPreset: Vocabulary {}

/// Takes the values that a provider's section leaves out from a preset, and remembers which.
struct PresetFilling {
    private let preset: ProviderPreset?
    private var filled: [String] = []

    init(_ section: Section<ProviderKey>) {
        self.preset = section.read(.preset) { $0.choice(ProviderPreset.self) }
    }

    /// The preset and the filled keys, for the summary.
    var settings: PresetSettings? { self.preset.map { PresetSettings(preset: $0, filled: self.filled) } }

    /// The preset's value for `key`; `nil` if the file has the key, even with a fault.
    mutating func fill<Value>(
        _ key: ProviderKey,
        of section: Section<ProviderKey>,
        _ value: (PresetFacts) -> Value?
    ) -> Value? {
        guard let preset, !section.has(key), let value = value(preset.facts) else { return nil }
        self.filled.append(key.rawValue)
        return value
    }

    /// The audience of assertions, if the provider requires the issuer as audience.
    mutating func audience(_ issuer: HTTPURL?, isNeeded: Bool) -> String? {
        guard isNeeded, let issuer, self.preset?.facts.assertionsNameIssuer == true else { return nil }
        self.filled.append("private_key.audience")
        return issuer.text
    }

    /// The preset's value for a key of `login`, as ``fill(_:of:_:)``.
    mutating func fill<Value>(
        _ key: ProviderLoginKey,
        of section: Section<ProviderLoginKey>,
        _ value: (PresetLogin) -> Value?
    ) -> Value? {
        guard let preset, !section.has(key), let value = value(preset.facts.login) else { return nil }
        self.filled.append("login.\(key.rawValue)")
        return value
    }

    /// The endpoints that a preset provides.
    struct Endpoints {
        var token: HTTPURL?
        var revocation: HTTPURL?
        var authorization: HTTPURL?
        var deviceAuthorization: HTTPURL?
    }

    /// The endpoints of a preset that knows their paths relative to the issuer. The base is the issuer or the token
    /// endpoint in the file; `nil` for other presets, and if the file has neither.
    private mutating func below(_ section: Section<ProviderKey>) -> Endpoints? {
        guard let paths = self.preset?.facts.belowIssuer else { return nil }
        let base: String
        if let token = section[.tokenEndpoint]?.url()?.text {
            // A token endpoint with another path tells nothing about the location of the other endpoints.
            guard token.hasSuffix("/" + paths.token) else { return Endpoints() }
            base = String(token.dropLast(paths.token.utf8.count))
        } else if let issuer = section[.issuer]?.url()?.text {
            base = issuer.hasSuffix("/") ? issuer : issuer + "/"
        } else {
            return nil
        }
        // With `allow_cleartext`, the base may be one where nobody must sign in.
        let signIn = { (path: String) in (try? HTTPURL(base + path)).flatMap { $0.isCleartext ? nil : $0 } }
        return Endpoints(
            token: self.fill(.tokenEndpoint, of: section) { _ in try? HTTPURL(base + paths.token) },
            revocation: self.fill(.revocationEndpoint, of: section) { _ in try? HTTPURL(base + paths.revocation) },
            authorization: self.fill(.authorizationEndpoint, of: section) { _ in signIn(paths.authorization) },
            deviceAuthorization: self.fill(.deviceAuthorizationEndpoint, of: section) { _ in
                signIn(paths.deviceAuthorization)
            }
        )
    }

    /// The preset's endpoints: those relative to the configured issuer or token endpoint, or fixed ones if the file
    /// names neither. Reports a fault if nothing determines a token endpoint.
    mutating func endpoints(_ section: Section<ProviderKey>) -> Endpoints {
        if let below = self.below(section) { return below }
        guard !section.has(.issuer), !section.has(.tokenEndpoint) else { return Endpoints() }
        let url = { (text: String?) in text.flatMap { try? HTTPURL($0) } }
        let endpoints = Endpoints(
            token: self.fill(.tokenEndpoint, of: section) { url($0.tokenEndpoint) },
            revocation: self.fill(.revocationEndpoint, of: section) { url($0.revocationEndpoint) },
            authorization: self.fill(.authorizationEndpoint, of: section) { url($0.login.authorizationEndpoint) },
            deviceAuthorization: self.fill(.deviceAuthorizationEndpoint, of: section) { facts in
                url(facts.login.deviceAuthorizationEndpoint)
            }
        )
        guard endpoints.token == nil else { return endpoints }
        if section.has(.preset), self.preset == nil { return Endpoints() }
        let tenant = self.preset.flatMap { preset in preset.facts.issuerExample.map { (preset.rawValue, $0) } }
        section.missing(
            tenant.map { "preset \($0.0) needs the issuer of your own tenant, such as \($0.1)" }
                ?? "issuer or token_endpoint is missing"
        )
        return endpoints
    }
}
