internal import OAuth
internal import TokenModel

/// How the gateway authenticates to providers and for accounts: where the secrets come from, never their contents.
extension SettingsSummary {
    static func proof(of provider: ProviderSettings) -> String {
        let secrets = provider.clientSecrets.map { Self.place($0.origin) }.joined(separator: ", else from ")
        return (secrets.isEmpty ? "" : ", secret from \(secrets)")
            + (provider.privateKey.map { ", \(Self.text($0))" } ?? "")
            + (provider.assertionAudience.token.map { ", assertions for \($0)" } ?? "")
            + (provider.assertionAudience.revocation.map { ", for \($0) at the revocation endpoint" } ?? "")
            + (provider.identity.map { ", shows the certificate in \($0.certificate)" } ?? "")
    }

    /// The values that come from the preset instead of the file.
    static func preset(of provider: ProviderSettings) -> [String] {
        guard let preset = provider.preset else { return [] }
        let filled = preset.filled.isEmpty ? "nothing" : preset.filled.joined(separator: " ")
        return ["  preset \(preset.preset.rawValue) of \(preset.preset.verified) filled \(filled)"]
    }

    static func line(_ account: AccountSettings) -> String {
        let scopes = account.scopes.isEmpty ? "" : ", scopes \(account.scopes.joined(separator: " "))"
        let owner = account.owner.map {
            ", name from \(Self.place($0.username.origin)), password from \(Self.place($0.password.origin))"
        }
        let assertion = account.assertion.map { assertion in
            ", assertions of \(assertion.issuer)" + (assertion.subject.map { " about \($0)" } ?? "")
                + (assertion.audience.map { " for \($0)" } ?? "") + ", \(Self.text(assertion.key))"
        }
        return
            "\(account.id): \(account.grant.rawValue) at \(account.provider)\(scopes)\(owner ?? "")\(assertion ?? "")"
    }

    private static func place(_ origin: ClientSecret.Origin) -> String {
        switch origin {
        case .file(let path): "file \(path)"
        case .variable(let name): "environment variable \(name)"
        }
    }

    private static func text(_ key: SigningKeySettings) -> String {
        "\(key.algorithm.rawValue) key from file \(key.file)" + (key.keyID.map { " as \($0)" } ?? "")
    }
}
