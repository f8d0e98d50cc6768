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

    /// The endpoints of a preset that knows their paths relative to the issuer. The base is the issuer or the token
    /// endpoint in the file; `nil` for other presets, and if the file has neither.
    private mutating func below(_ section: Section<ProviderKey>) -> (token: HTTPURL?, revocation: HTTPURL?)? {
        guard let paths = self.preset?.facts.belowIssuer else { return nil }
        let base: String
        if let token = section[.tokenEndpoint]?.url()?.text {
            // A token endpoint with another path tells nothing about the location of the revocation endpoint.
            guard token.hasSuffix("/" + paths.token) else { return (nil, nil) }
            base = String(token.dropLast(paths.token.utf8.count))
        } else if let issuer = section[.issuer]?.url()?.text {
            base = issuer.hasSuffix("/") ? issuer : issuer + "/"
        } else {
            return nil
        }
        return (
            self.fill(.tokenEndpoint, of: section) { _ in try? HTTPURL(base + paths.token) },
            self.fill(.revocationEndpoint, of: section) { _ in try? HTTPURL(base + paths.revocation) }
        )
    }

    /// The preset's endpoints: those relative to the configured issuer or token endpoint, or fixed ones if the file
    /// names neither. Reports a fault if nothing determines a token endpoint.
    mutating func endpoints(_ section: Section<ProviderKey>) -> (token: HTTPURL?, revocation: HTTPURL?) {
        if let below = self.below(section) { return below }
        guard !section.has(.issuer), !section.has(.tokenEndpoint) else { return (nil, nil) }
        let token = self.fill(.tokenEndpoint, of: section) { facts in
            facts.tokenEndpoint.flatMap { try? HTTPURL($0) }
        }
        let revocation = self.fill(.revocationEndpoint, of: section) { facts in
            facts.revocationEndpoint.flatMap { try? HTTPURL($0) }
        }
        guard token == nil else { return (token, revocation) }
        if section.has(.preset), self.preset == nil { return (nil, nil) }
        let tenant = self.preset.flatMap { preset in preset.facts.issuerExample.map { (preset.rawValue, $0) } }
        section.missing(
            tenant.map { "preset \($0.0) needs the issuer of your own tenant, such as \($0.1)" }
                ?? "issuer or token_endpoint is missing"
        )
        return (nil, revocation)
    }
}
