import OAuth
import Settings
import Testing

/// The settings that a preset fills in, and those that it leaves unchanged.
@Suite struct PresetTests {
    private func provider(_ text: String) throws -> ProviderSettings? {
        try settings(of: text, variables: ["HOME": "/h", "S": "canary"]).providers.first
    }

    private static let bare = SampleFile().provider(without: "issuer").provider("client_secret: { env: S }")

    @Test func `a preset fills in missing settings`() throws {
        let github = try self.provider(Self.bare.provider("preset: github").text)
        #expect(github?.tokenEndpoint?.text == "https://github.com/login/oauth/access_token")
        #expect(github?.clientAuthentication == .post)
        #expect(github?.refresh == .onExpiry)
        #expect(github?.defaultLifetime == .seconds(28_800))
        #expect(
            github?.preset?.filled.sorted() == [
                "authorization_endpoint", "client_auth", "default_lifetime", "device_authorization_endpoint", "refresh",
                "token_endpoint",
            ]
        )
    }

    @Test func `the file takes precedence over a preset`() throws {
        let file = Self.bare.provider("preset: github").provider("refresh: ahead").provider("default_lifetime: 1h")
            .provider("client_auth: client_secret_basic").provider("token_endpoint: https://ghe.example/token")
        let github = try self.provider(file.text)
        #expect(github?.tokenEndpoint?.host.text == "ghe.example")
        #expect(github?.clientAuthentication == .basic)
        #expect(github?.refresh == .ahead)
        #expect(github?.authorizationEndpoint == nil && github?.deviceAuthorizationEndpoint == nil)
        #expect(github?.preset?.filled == [])
    }

    @Test func `a preset derives the revocation endpoint from the issuer or the token endpoint`() throws {
        let preset = Self.bare.provider("preset: django_oauth_toolkit")
        for issuer in ["https://id.example/o", "https://id.example/o/"] {
            let django = try self.provider(preset.provider("issuer: \(issuer)").text)
            #expect(django?.tokenEndpoint?.text == "https://id.example/o/token/")
            #expect(django?.revocationEndpoint?.text == "https://id.example/o/revoke_token/")
            #expect(django?.clientAuthentication == .basic)
            #expect(django?.defaultLifetime == .seconds(36_000))
        }
        let named = try self.provider(preset.provider("token_endpoint: https://id.example/oauth/token/").text)
        #expect(named?.revocationEndpoint?.text == "https://id.example/oauth/revoke_token/")
        let elsewhere = try self.provider(preset.provider("token_endpoint: https://id.example/login").text)
        #expect(elsewhere?.revocationEndpoint == nil)
        #expect(throws: SettingsError.self) { try self.provider(preset.text) }
    }

    @Test func `a preset fills in what people are asked for at a sign-in, key by key`() throws {
        let preset = Self.bare.provider("preset: google")
        let google = try self.provider(preset.text)
        #expect(google?.authorizationEndpoint?.text == "https://accounts.google.com/o/oauth2/v2/auth")
        #expect(google?.deviceAuthorizationEndpoint?.text == "https://oauth2.googleapis.com/device/code")
        #expect(google?.login.prompt == "consent")
        #expect(google?.login.extra == ["access_type": "offline"])
        #expect(google?.preset?.filled.suffix(2) == ["login.prompt", "login.extra"])

        let mixed = try self.provider(
            preset.provider(
                "authorization_endpoint: https://a.example/a",
                "login: { prompt: select_account, scopes: [email] }"
            ).text
        )
        #expect(mixed?.authorizationEndpoint?.text == "https://a.example/a")
        #expect(mixed?.deviceAuthorizationEndpoint?.text == "https://oauth2.googleapis.com/device/code")
        #expect(mixed?.login.prompt == "select_account")
        #expect(mixed?.login.extra == ["access_type": "offline"])

        let cleared = try self.provider(
            Self.bare.provider("preset: atlassian", "login: { scopes: [], extra: {} }").text
        )
        #expect(cleared?.login.scopes == [] && cleared?.login.extra == [:])
        #expect(cleared?.login.prompt == "consent")
    }

    @Test func `a preset derives the endpoints of sign-ins, but none where nobody must sign in`() throws {
        let preset = Self.bare.provider("preset: django_oauth_toolkit")
        let django = try self.provider(preset.provider("issuer: https://id.example/o").text)
        #expect(django?.authorizationEndpoint?.text == "https://id.example/o/authorize/")
        #expect(django?.deviceAuthorizationEndpoint?.text == "https://id.example/o/device-authorization/")
        let named = try self.provider(preset.provider("token_endpoint: https://id.example/oauth/token/").text)
        #expect(named?.authorizationEndpoint?.text == "https://id.example/oauth/authorize/")
        let cleartext = try self.provider(
            preset.provider("issuer: http://id.lan/o", "allow_cleartext: true").text
        )
        #expect(cleartext?.tokenEndpoint?.text == "http://id.lan/o/token/")
        #expect(cleartext?.authorizationEndpoint == nil && cleartext?.deviceAuthorizationEndpoint == nil)
    }

    @Test func `a configured issuer replaces the preset's endpoints`() throws {
        let salesforce = try self.provider(
            Self.bare.provider("preset: salesforce").provider("issuer: https://my.salesforce.example").text
        )
        #expect(salesforce?.tokenEndpoint == nil && salesforce?.revocationEndpoint == nil)
        #expect(salesforce?.authorizationEndpoint == nil)
        #expect(salesforce?.login.scopes == ["refresh_token"])
        #expect(salesforce?.issuer?.host.text == "my.salesforce.example")
    }

    @Test(arguments: ProviderPreset.allCases)
    func `every preset makes a provider, if given the issuer it may need`(preset: ProviderPreset) throws {
        var file = Self.bare.provider("preset: \(preset.rawValue)")
        if preset.facts.issuerExample != nil {
            let lines = faults(of: file.text, variables: ["HOME": "/h", "S": "canary"])
            #expect(lines.count == 1)
            #expect(lines.first?.contains("preset \(preset.rawValue) needs the issuer of your own tenant") == true)
            file = file.provider("issuer: https://tenant.example/")
        }
        let provider = try #require(try self.provider(file.text))
        #expect(provider.tokenEndpoint != nil || provider.issuer != nil)
        #expect(provider.clientAuthentication.rawValue == preset.facts.clientAuthentication)
    }

    @Test func `the audience of Auth0's assertions is the issuer`() throws {
        let file = SampleFile().provider("preset: auth0").provider("issuer: https://t.auth0.example/")
            .provider("private_key: { file: k.pem, algorithm: RS256 }")
        let auth0 = try settings(of: file.text, secrets: ["/etc/martlet/k.pem": "canary"]).providers.first
        #expect(auth0?.assertionAudience.token == "https://t.auth0.example/")
        #expect(auth0?.clientAuthentication == .privateKeyJWT)
    }

    @Test func `an unknown preset is one fault`() {
        let lines = faults(of: Self.bare.provider("preset: gitlab").text, variables: ["HOME": "/h", "S": "canary"])
        #expect(lines.count == 1)
        #expect(lines.first?.contains("providers.acme.preset: unknown value") == true)
    }

    @Test func `the summary names the settings that a preset filled in`() throws {
        let text = Self.bare.provider("preset: xero").text
        let read = try settings(of: text, variables: ["HOME": "/h", "S": "canary"])
        #expect(
            SettingsSummary(read).description.contains(
                "preset xero of 2026-11-21 filled client_auth token_endpoint revocation_endpoint authorization_endpoint "
                    + "answer_timeout default_lifetime login.scopes"
            )
        )
    }
}
