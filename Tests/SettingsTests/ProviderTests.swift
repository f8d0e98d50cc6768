import Settings
import Testing
import TokenModel

@Suite struct ProviderTests {
    @Test(arguments: ["issuer", "token_endpoint", "revocation_endpoint"])
    func `tokens and secrets go unencrypted to another machine only with allow_cleartext`(key: String) {
        let file = SampleFile().provider("token_endpoint: https://a.example/t", "\(key): http://login.example/x")
        let lines = faults(of: file.text)
        #expect(lines.count == 1)
        #expect(
            lines.first?.hasSuffix(
                "providers.acme.\(key): tokens would travel unencrypted to login.example: "
                    + "use https:// or add allow_cleartext: true"
            ) == true
        )
        #expect(faults(of: file.provider("allow_cleartext: true").text) == [])
        #expect(faults(of: SampleFile().provider("\(key): http://127.0.0.1:9090/x").text) == [])
    }

    @Test(arguments: [
        ("keep_alive: 24h", Duration.seconds(60)),
        ("answer_timeout: 5m", .seconds(300)),
        ("preset: google", .seconds(8)),
        ("preset: okta", .seconds(20)),
        ("preset: xero", .seconds(60)),
        ("preset: github", .seconds(60)),
    ])
    func `the answer timeout depends on the provider's grace`(
        line: String,
        answerTimeout: Duration
    ) throws {
        let provider = try settings(of: SampleFile().provider(line).text).providers.first
        #expect(provider?.timeout == .seconds(8))
        #expect(provider?.answerTimeout == answerTimeout)
    }

    @Test func `an issuer is kept as written`() throws {
        let written = "HTTPS://Login.Example:443/Tenant"
        let issuer = try settings(of: SampleFile().provider("issuer: \(written)").text).providers.first?.issuer
        #expect(issuer?.text == written)
        #expect(issuer?.host.text == "login.example")
    }

    @Test(arguments: [
        ("issuer: https://a.example?x=y", "3:13: providers.acme.issuer: must not have a query"),
        ("issuer: https://a.example/#x", "3:13: providers.acme.issuer: must not have a fragment"),
        ("issuer: https://me:canary@a.example/", "3:13: providers.acme.issuer: must not hold a user name or password"),
        ("issuer: a.example", "3:13: providers.acme.issuer: expected a URL with https:// or http://"),
        ("issuer: https://a.example/%2e./", "3:13: providers.acme.issuer: must not have . or .. as a segment"),
        (
            "token_endpoint: 'https://a.example/a b'",
            "5:21: providers.acme.token_endpoint: holds a character that must be percent-encoded"
        ),
        (
            "token_endpoint: 'https://a.example/[b]'",
            "5:21: providers.acme.token_endpoint: holds a character that must be percent-encoded"
        ),
        (
            "token_endpoint: https://a.example/%zz",
            "5:21: providers.acme.token_endpoint: holds a character that must be percent-encoded"
        ),
        ("client_id:", "4:5: providers.acme.client_id: expected text, found nothing"),
        ("timeout: 16s", "5:14: providers.acme.timeout: must be between 1ms and 15s"),
        ("timeout: 0s", "5:14: providers.acme.timeout: must be between 1ms and 15s"),
        ("answer_timeout: 7s", "5:21: providers.acme.answer_timeout: must be between 8s and 5m"),
        ("answer_timeout: 6m", "5:21: providers.acme.answer_timeout: must be between 8s and 5m"),
        ("default_lifetime: 25h", "5:23: providers.acme.default_lifetime: must be between 1s and 24h"),
        (
            "tls: { ca: missing.pem }",
            "5:16: providers.acme.tls.ca: /etc/martlet/missing.pem can't be read: it is not there"
        ),
        (
            "client_auth: basic",
            "5:18: providers.acme.client_auth: unknown value, there are client_secret_basic, client_secret_post, private_key_jwt, "
                + "tls_client_auth, none"
        ),
        (
            "client_auth: client_secret_post",
            "5:18: providers.acme.client_auth: client_secret_post needs a client_secret, which is missing"
        ),
        (
            "client_auth: client_secret_basic",
            "5:18: providers.acme.client_auth: client_secret_basic needs a client_secret, which is missing"
        ),
    ])
    func `a fault in a provider is reported with its position`(line: String, fault: String) {
        #expect(faults(of: SampleFile().provider(line).text) == [fault])
    }

    @Test(arguments: [
        ("refresh: later", "5:14: providers.acme.refresh: unknown value, there are ahead, on_expiry"),
        ("refresh: on-expiry", #"5:14: providers.acme.refresh: unknown value, did you mean "on_expiry"?"#),
        ("keep_alive: 59s", "5:17: providers.acme.keep_alive: must be between 1m and 8760h"),
        ("token_params: [a]", "5:19: providers.acme.token_params: expected a mapping, found a list"),
        (
            "token_params: { audience: {} }",
            "5:31: providers.acme.token_params.audience: expected text, found a mapping"
        ),
        (
            #"token_params: { audience: "a\u0000b" }"#,
            "5:31: providers.acme.token_params.audience: holds a line break or another control character"
        ),
    ])
    func `a fault in refreshes or parameters is reported with its position`(line: String, fault: String) {
        #expect(faults(of: SampleFile().provider(line).text) == [fault])
    }

    @Test(arguments: ["grant_type", "refresh_token", "scope", "client_id", "client_secret", "client_assertion"])
    func `reserved token parameters can't be configured`(name: String) {
        #expect(
            faults(of: SampleFile().provider("token_params: { \(name): canary }").text) == [
                "5:21: providers.acme.token_params.\(name): is decided by the request itself and can't be set here"
            ]
        )
    }

    @Test func `refreshes and parameters can be set, and have defaults`() throws {
        let standard = try settings(of: SampleFile().text).providers.first
        #expect(standard?.refresh == .ahead)
        #expect(standard?.keepAlive == .seconds(86_400))
        #expect(standard?.tokenParameters == [:])
        let written = try settings(
            of: SampleFile().provider(
                "refresh: on_expiry",
                "keep_alive: 5m",
                "token_params: { audience: https://api.acme.example, empty: '' }"
            ).text
        ).providers.first
        #expect(written?.refresh == .onExpiry)
        #expect(written?.keepAlive == .seconds(300))
        #expect(written?.tokenParameters == ["audience": "https://api.acme.example", "empty": ""])
    }

    @Test func `client_credentials without a secret gets a warning`() throws {
        let file = SampleFile().account("alice: { provider: acme, grant: client_credentials }")
        let loose = try settings(of: file.text)
        #expect(loose.accounts.first?.grant == .clientCredentials)
        #expect(loose.warnings.map(\.path) == ["accounts.alice"])
        let proven = try settings(
            of: file.provider("client_secret: { env: S }").text,
            variables: ["HOME": "/home/me", "S": "canary"]
        )
        #expect(proven.warnings.isEmpty)
    }

    @Test func `a provider has an issuer or a token endpoint`() {
        let file = SampleFile().provider(without: "issuer")
        #expect(faults(of: file.text) == ["2:3: providers.acme: issuer or token_endpoint is missing"])
        #expect(faults(of: file.provider("token_endpoint: https://a.example/t").text) == [])
    }

    @Test func `a secret alone means basic authentication`() throws {
        let file = SampleFile().provider("client_secret: { env: ACME }")
        let provider = try settings(of: file.text, variables: ["HOME": "/h", "ACME": " canary\n"]).providers.first
        #expect(provider?.clientAuthentication == .basic)
        #expect(provider?.clientSecrets.first?.value == Secret(" canary\n"))
        #expect(provider?.clientSecrets.first?.origin == .variable("ACME"))
    }

    @Test func `the path of a secret file is relative to the configuration file`() throws {
        let file = SampleFile().provider("client_secret: { file: acme.secret }")
        let provider = try settings(of: file.text, secrets: ["/etc/martlet/acme.secret": "canary"]).providers.first
        #expect(provider?.clientSecrets.first?.value == Secret("canary"))
        #expect(provider?.clientSecrets.first?.origin == .file("/etc/martlet/acme.secret"))
    }

    @Test(arguments: [
        (
            "{ env: CANARY }",
            "5:22: providers.acme.client_secret.env: the environment has no such variable: "
                + "set it where martlet starts, or write { file: PATH }"
        ),
        ("{ env: EMPTY }", "5:22: providers.acme.client_secret.env: the environment's variable EMPTY is empty"),
        ("{ file: a }", "5:22: providers.acme.client_secret.file: /etc/martlet/a can't be read: it is not there"),
        ("{ file: a, env: EMPTY }", "5:20: providers.acme.client_secret: has both file and env, expected one"),
        ("{}", "5:5: providers.acme.client_secret: file or env is missing"),
        ("", "5:5: providers.acme.client_secret: expected a mapping, found nothing"),
        (
            "canary",
            "5:20: providers.acme.client_secret: a secret must not be written in this file; "
                + "expected { file: PATH } or { env: NAME }"
        ),
        ("{ env: }", "5:22: providers.acme.client_secret.env: expected the name of a variable, found nothing"),
    ])
    func `a secret comes from a file or a variable`(written: String, fault: String) {
        let file = SampleFile().provider("client_secret: \(written)")
        #expect(faults(of: file.text, variables: ["HOME": "/h", "EMPTY": ""]) == [fault])
    }

    @Test func `a secret in the wrong place is not shown`() {
        let lines = faults(of: SampleFile().provider("client_secret: { canary-7d1f }").text)
        #expect(lines.contains("5:22: providers.acme.client_secret: unknown key, there are file, env"))
        #expect(!lines.joined().contains("canary"))
    }

    @Test(arguments: [
        ("'a b'", false), ("'a/b'", false), ("'.'", false), ("'..'", false), ("''", false), ("é", false),
        (String(repeating: "n", count: 65), false), (String(repeating: "n", count: 64), true), ("A.b_c-9", true),
        ("007", true),
    ])
    func `names have 1 to 64 plain characters`(name: String, isTaken: Bool) {
        let lines = faults(
            of: """
                providers:
                  \(name): { issuer: https://a.example, client_id: a }
                accounts:
                  \(name): { provider: \(name) }
                routes: []
                """
        )
        #expect(lines.allSatisfy { $0.contains("a name ") || $0.contains("provider: is empty") })
        #expect(lines.isEmpty == isTaken)
        #expect(isTaken || lines.first?.hasPrefix("2:3: ") == true)
    }

    @Test(arguments: [
        (
            "{ provider: acme, grant: refresh }",
            #"6:35: accounts.alice.grant: unknown value, did you mean "refresh_token"?"#
        ),
        ("{ provider: acme, scopes: read }", "6:36: accounts.alice.scopes: expected a list, found text"),
        (
            #"{ provider: acme, scopes: ['a"b'] }"#,
            #"6:37: accounts.alice.scopes[0]: is not a scope: printable ASCII without " and \ only"#
        ),
        ("{ provider: other }", "6:22: accounts.alice.provider: there is no such provider, there is only acme"),
        ("acme", "6:10: accounts.alice: expected a mapping, found text"),
    ])
    func `a fault in an account is reported with its position`(written: String, fault: String) {
        #expect(faults(of: SampleFile().account("alice: \(written)").text) == [fault])
    }

    @Test func `a provider with faults still counts as defined`() {
        let lines = faults(of: SampleFile().provider("client_id: []").text)
        #expect(lines == ["4:16: providers.acme.client_id: expected text, found a list"])
    }

    @Test func `references into a section that is no mapping are not reported`() {
        let text = SampleFile().text.replacing("accounts:\n  alice: { provider: acme }", with: "accounts: x")
        #expect(faults(of: text) == ["5:11: accounts: expected a mapping, found text"])
    }
}
