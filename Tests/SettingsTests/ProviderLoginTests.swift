import Settings
import Testing

/// What a provider's section says about signing in.
@Suite struct ProviderLoginTests {
    private static let plain = SampleFile().provider(without: "issuer").provider("token_endpoint: https://a.example/t")

    @Test func `sign-ins have defaults`() throws {
        let provider = try settings(of: SampleFile().text).providers.first
        #expect(provider?.authorizationEndpoint == nil)
        #expect(provider?.deviceAuthorizationEndpoint == nil)
        #expect(provider?.login.scopes == [])
        #expect(provider?.login.prompt == nil)
        #expect(provider?.login.redirectURI.text == "http://127.0.0.1/callback")
        #expect(provider?.login.extra == [:])
    }

    @Test func `everything about signing in can be set`() throws {
        let file = SampleFile().provider(
            "authorization_endpoint: https://a.example/authorize?tenant=1",
            "device_authorization_endpoint: https://a.example/device",
            "login: { scopes: [openid, offline_access], prompt: select_account, redirect_uri: 'http://[::1]:8400/cb', "
                + "extra: { audience: https://api.example, empty: '' } }"
        )
        let provider = try settings(of: file.text).providers.first
        #expect(provider?.authorizationEndpoint?.text == "https://a.example/authorize?tenant=1")
        #expect(provider?.deviceAuthorizationEndpoint?.text == "https://a.example/device")
        #expect(provider?.login.scopes == ["openid", "offline_access"])
        #expect(provider?.login.prompt == "select_account")
        #expect(provider?.login.redirectURI.text == "http://[::1]:8400/cb")
        #expect(provider?.login.extra == ["audience": "https://api.example", "empty": ""])
    }

    @Test(arguments: ["authorization_endpoint", "device_authorization_endpoint"])
    func `nobody signs in unencrypted, whatever allow_cleartext says`(key: String) {
        for file in [SampleFile(), SampleFile().provider("allow_cleartext: true")] {
            let found = faults(of: file.provider("\(key): http://idp.lan/x").text)
            #expect(found.count == 1)
            #expect(
                found.first?.hasSuffix(
                    "providers.acme.\(key): must be https://, or http:// on loopback: people sign in there, "
                        + "and allow_cleartext is not for them"
                ) == true
            )
        }
        #expect(faults(of: SampleFile().provider("\(key): http://127.0.0.1:9090/x").text) == [])
    }

    @Test(arguments: [
        ("login: { prompt: '' }", "5:22: providers.acme.login.prompt: is empty"),
        ("login: { scopes: read }", "5:22: providers.acme.login.scopes: expected a list, found text"),
        (
            "login: { scopes: [a b] }",
            "5:23: providers.acme.login.scopes[0]: is several scopes, write them as items of the list"
        ),
        ("login: { extra: [a] }", "5:21: providers.acme.login.extra: expected a mapping, found a list"),
        (
            "login: { redirect_uri: http://a.example/cb }",
            "5:28: providers.acme.login.redirect_uri: must be https://, or http:// on 127.0.0.1, [::1] or localhost: "
                + "the code of a sign-in arrives there"
        ),
        (
            "login: { hint: x }",
            "5:14: providers.acme.login.hint: unknown key, there are scopes, prompt, extra, redirect_uri"
        ),
        ("login: consent", "5:12: providers.acme.login: expected a mapping, found text"),
        (
            "authorization_endpoint: /authorize",
            "5:29: providers.acme.authorization_endpoint: expected a URL with https:// or http://"
        ),
    ])
    func `a fault in a sign-in is reported with its position`(line: String, fault: String) {
        #expect(faults(of: SampleFile().provider(line).text) == [fault])
    }

    @Test(arguments: [
        "response_type", "client_id", "redirect_uri", "scope", "state", "nonce", "code_challenge",
        "code_challenge_method", "request", "request_uri", "response_mode", "prompt",
    ])
    func `parameters that the request itself sets can't be configured`(name: String) {
        #expect(
            faults(of: SampleFile().provider("login: { extra: { \(name): canary } }").text) == [
                "5:23: providers.acme.login.extra.\(name): is decided by the request itself and can't be set here"
            ]
        )
    }

    @Test func `openid in a provider's scopes needs the issuer`() {
        let line = "login: { scopes: [openid] }"
        #expect(
            faults(of: Self.plain.provider(line).text) == [
                "5:22: providers.acme.login.scopes: openid needs the provider's issuer, whose keys check the ID token"
            ]
        )
        #expect(faults(of: SampleFile().provider(line).text) == [])
    }

    @Test(arguments: [
        "authorization_endpoint: https://a.example/a", "device_authorization_endpoint: https://a.example/d",
        "login: { prompt: consent }",
    ])
    func `openid in an account's scopes needs the issuer where people sign in`(line: String) {
        let file = Self.plain.provider(line).account("alice: { provider: acme, scopes: [read, openid] }")
        #expect(
            faults(of: file.text) == [
                "7:36: accounts.alice.scopes: openid needs the provider's issuer, whose keys check the ID token"
            ]
        )
        #expect(faults(of: file.provider("issuer: https://login.acme.example").text) == [])
    }

    @Test func `openid in the scopes of an account that only imports is no fault`() throws {
        let account = "alice: { provider: acme, scopes: [openid] }"
        #expect(try settings(of: Self.plain.account(account).text).warnings.isEmpty)
        // Only the preset says where people sign in: tokens may have been imported all along.
        let preset = SampleFile().provider(without: "issuer").provider("preset: google").account(account)
        let warnings = try settings(of: preset.text).warnings
        #expect(warnings.map(\.path) == ["accounts.alice.scopes"])
        #expect(warnings.first?.message.hasSuffix("nobody can sign in without it") == true)
    }

    @Test func `openid in the scopes of an account whose tokens are minted is no fault`() {
        let file = Self.plain.provider("login: { prompt: consent }")
            .account("alice: { provider: acme, grant: client_credentials, scopes: [openid] }")
        #expect(faults(of: file.text) == [])
    }

    @Test func `the summary tells how to sign in, without the values of parameters`() throws {
        func line(_ file: SampleFile) throws -> String? {
            SettingsSummary(try settings(of: file.text)).lines.first { $0.hasPrefix("    sign-in") }
        }
        #expect(
            try line(SampleFile()) == "    sign-in as the issuer's metadata says, back to http://127.0.0.1/callback"
        )
        #expect(
            try line(Self.plain) == "    sign-in not possible: authorization_endpoint or issuer is missing"
        )
        let full = Self.plain.provider(
            "authorization_endpoint: https://a.example/a?key=canary",
            "device_authorization_endpoint: https://a.example/d",
            "login: { scopes: [offline_access], prompt: consent, extra: { b: canary, a: canary } }"
        )
        #expect(
            try line(full)
                == "    sign-in at https://a.example/a?…, with device codes from https://a.example/d, "
                + "back to http://127.0.0.1/callback, scopes offline_access too, prompt consent, requests carry a b"
        )
    }
}
