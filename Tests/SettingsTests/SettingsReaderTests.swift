import Settings
import Testing
import TokenModel

@Suite struct SettingsReaderTests {
    @Test func `a file with every key is read key by key`() throws {
        let settings = try settings(
            of: #"""
                listeners:
                  - address: 127.0.0.1:8080            # [::1]:8080
                  - address: "[::1]:8090"
                admin:
                  address: 127.0.0.1:9081
                  token_file: operators.token
                state_dir: /var/lib/martlet            # made 0700
                store:
                  driver: sqlite
                  path: db/tokens.db
                  sealing_key_file: /etc/martlet/sealing.key
                shutdown_grace: 20s
                providers:
                  acme:
                    issuer: https://login.acme.example
                    token_endpoint: https://login.acme.example/oauth/token?tenant=7
                    revocation_endpoint: https://login.acme.example:8443/oauth/revoke
                    client_id: my-app
                    client_secret: { file: /run/secrets/acme }
                    client_auth: client_secret_post
                    tls: { ca: roots.pem }
                    timeout: 9500ms
                    default_lifetime: 30m
                    allow_cleartext: false
                accounts:
                  alice:   { provider: acme, grant: refresh_token, scopes: [read, "write:all"] }
                routes:
                  - name: acme
                    match: { path: /acme/, host: API.local }
                    upstream: http://api.acme.example/v2/
                    account: alice
                    strip: false
                    inject: { header: X-Token, prefix: "" }
                    replay: { body_limit: 1MiB }
                    timeouts: { connect: 2s, response: 1h, idle: 500ms }
                    max_connections: 16
                    connection_age: 90s
                    via: false
                    allow_cleartext: true
                callers: [{ name: reports, key_sha256: \#(String(repeating: "ab", count: 32)) }]
                limits: { head: 64KiB, field: 8KiB, fields: 50, target: 512B, waiters: 9 }
                log: { level: debug, format: text }
                """#,
            secrets: ["/run/secrets/acme": "canary"]
        )

        #expect(settings.listeners.map(\.address.description) == ["127.0.0.1:8080", "[::1]:8090"])
        #expect(settings.admin.address.description == "127.0.0.1:9081")
        #expect(settings.admin.tokenFile == "/var/lib/martlet/operators.token")
        #expect(settings.stateDirectory == "/var/lib/martlet")
        #expect(
            settings.store
                == .single(
                    .sqlite(path: "/var/lib/martlet/db/tokens.db"),
                    sealingKey: .file("/etc/martlet/sealing.key")
                )
        )
        #expect(settings.shutdownGrace == .seconds(20))

        let provider = try #require(settings.providers.first)
        #expect(provider.id == ProviderID("acme"))
        #expect(provider.issuer?.text == "https://login.acme.example")
        #expect(provider.tokenEndpoint?.query == "tenant=7")
        #expect(provider.tokenEndpoint?.path == "/oauth/token")
        #expect(provider.revocationEndpoint?.port == 8443)
        #expect(provider.clientID == "my-app")
        #expect(provider.clientSecrets.first?.value == Secret("canary"))
        #expect(provider.clientSecrets.first?.origin == .file("/run/secrets/acme"))
        #expect(provider.clientAuthentication == .post)
        #expect(provider.certificateAuthorities == "/etc/martlet/roots.pem")
        #expect(provider.timeout == .milliseconds(9_500))
        #expect(provider.defaultLifetime == .seconds(1_800))
        #expect(!provider.allowsCleartext)

        let account = try #require(settings.accounts.first)
        #expect(account.id == AccountID("alice"))
        #expect(account.provider == ProviderID("acme"))
        #expect(account.grant == .refreshToken)
        #expect(account.scopes == ["read", "write:all"])

        let route = try #require(settings.routes.first)
        #expect(route.name == "acme")
        #expect(route.match.path == "/acme/")
        #expect(route.match.host == "api.local")
        #expect(route.upstream.scheme == .http)
        #expect(route.upstream.host.text == "api.acme.example")
        #expect(route.upstream.port == 80)
        #expect(route.upstream.path == "/v2/")
        #expect(route.account == .fixed(AccountID("alice")))
        #expect(!route.strip)
        #expect(route.injection.header == "X-Token")
        #expect(route.injection.prefix.isEmpty)
        #expect(route.replayBodyLimit == 1_048_576)
        #expect(route.timeouts.connect == .seconds(2))
        #expect(route.timeouts.response == .seconds(3_600))
        #expect(route.timeouts.idle == .milliseconds(500))
        #expect(route.maximumConnections == 16)
        #expect(route.connectionAge == .seconds(90))
        #expect(!route.via)

        #expect(settings.limits.head == 65_536)
        #expect(settings.limits.field == 8_192)
        #expect(settings.limits.fields == 50)
        #expect(settings.limits.target == 512)
        #expect(settings.limits.waiters == 9)
        #expect(settings.log.level == .debug)
        #expect(settings.log.format == .text)
        #expect(settings.warnings.isEmpty)
    }

    @Test func `a missing key has its documented default`() throws {
        let settings = try settings(of: SampleFile().text)

        #expect(settings.listeners.map(\.address.description) == ["127.0.0.1:8080"])
        #expect(settings.admin.address.description == "127.0.0.1:8081")
        #expect(settings.admin.tokenFile == "/home/me/.local/state/martlet/admin.token")
        #expect(
            settings.store
                == .single(
                    .sqlite(path: "/home/me/.local/state/martlet/tokens.db"),
                    sealingKey: .file("/home/me/.local/state/martlet/sealing.key")
                )
        )
        #expect(settings.shutdownGrace == .seconds(30))

        let provider = try #require(settings.providers.first)
        #expect(provider.tokenEndpoint == nil && provider.revocationEndpoint == nil)
        #expect(provider.clientSecrets == [])
        #expect(provider.clientAuthentication == .none)
        #expect(provider.certificateAuthorities == nil)
        #expect(provider.timeout == .seconds(8))
        #expect(provider.defaultLifetime == .seconds(3_600))
        #expect(!provider.allowsCleartext)
        #expect(settings.accounts.first?.grant == .refreshToken)
        #expect(settings.accounts.first?.scopes == [])

        let route = try #require(settings.routes.first)
        #expect(route.match.host == nil)
        #expect(route.strip && route.via)
        #expect(route.injection.header == "Authorization")
        #expect(route.injection.prefix == "Bearer ")
        #expect(route.replayBodyLimit == 65_536)
        #expect(route.timeouts.connect == .seconds(5))
        #expect(route.timeouts.response == .seconds(300))
        #expect(route.timeouts.idle == .seconds(300))
        #expect(route.maximumConnections == 1_024)
        #expect(route.connectionAge == .seconds(600))

        #expect(settings.limits.head == 32_768)
        #expect(settings.limits.field == 16_384)
        #expect(settings.limits.fields == 200)
        #expect(settings.limits.target == 8_192)
        #expect(settings.limits.waiters == 10_000)
        #expect(settings.log.level == .info)
        #expect(settings.log.format == .json)
    }

    @Test func `five faults of five kinds are reported at once, in the order of the file`() {
        let text = """
            listeners: [{ address: 127.0.0.1:8080 }]
            providers:
              acme:
                issuer: https://login.acme.example
                client_id: my-app
                timeout: 8
            accounts:
              alice: { provider: acmee }
            routes:
              - name: acme
                match: { path: /acme }
                upsteam: http://127.0.0.1:9000/
                account: alice
                retry_on: {}
            """
        do throws(SettingsError) {
            _ = try settings(of: text)
            Issue.record("the file was taken")
        } catch {
            #expect(error.code == .invalid)
            #expect(
                error.description == """
                    martlet.yaml:6:14: providers.acme.timeout: has no unit; write a duration such as 500ms, 8s, 5m or 24h
                    martlet.yaml:8:22: accounts.alice.provider: there is no such provider, did you mean "acme"?
                    martlet.yaml:11:20: routes[0].match.path: must end in /
                    martlet.yaml:12:5: routes[0].upsteam: unknown key, did you mean "upstream"?
                    martlet.yaml:14:15: routes[0].retry_on: expected a list, found a mapping
                    """
            )
        }
    }

    @Test(arguments: ["", "\n\n", "# only a comment\n", "---\n", "~\n", "\u{FEFF}"])
    func `the fault for an empty file names the missing parts and an example`(text: String) {
        #expect(
            faults(of: text) == [
                "1:1: the file is empty: providers, accounts and routes are missing; README.md has an example to start from"
            ]
        )
    }

    @Test func `a missing part is named`() {
        #expect(
            faults(of: "log: {}\n") == [
                "1:1: accounts is missing", "1:1: providers is missing", "1:1: routes is missing",
            ]
        )
    }

    @Test(arguments: [
        ("- providers\n", "1:1: expected a mapping, found a list"),
        ("providers\n", "1:1: expected a mapping, found text"),
    ])
    func `a file that is not a mapping is reported with its kind`(text: String, fault: String) {
        #expect(faults(of: text) == [fault])
    }

    @Test(arguments: [
        (
            "a: [1\nb: 2\n",
            "2:2: not YAML: while parsing a flow sequence that begins at 1:4, did not find expected ',' or ']'"
        ),
        ("a: b: c\n", "1:5: not YAML: mapping values are not allowed in this context"),
        (
            "a:\n\tb: c\n",
            "2:1: not YAML: while scanning for the next token that begins at 2:1, found character that cannot start any token"
        ),
        ("a: *x\n", "1:4: not YAML: found undefined alias"),
        ("a: 1\n---\nb: 1\n", "2:1: a second document begins here, the file must hold one"),
        ("a: 1\nb: \"x\u{7}\"\n", "2:6: a character that YAML does not allow"),
        ("a: \u{FFFE}\n", "1:4: a character that YAML does not allow"),
    ])
    func `text that is not YAML has one fault, at the first mistake`(text: String, fault: String) {
        #expect(faults(of: text) == [fault])
    }

    @Test func `unlimited nesting is a fault and not a crash`() {
        let nested = faults(of: String(repeating: "[", count: 5_000))
        #expect(nested.count == 1)
        #expect(nested.first?.contains("not YAML") == true)
    }

    @Test(arguments: [
        (["XDG_STATE_HOME": "/state", "HOME": "/home/me"], "/state/martlet"),
        (["XDG_STATE_HOME": "/state/"], "/state/martlet"),
        (["XDG_STATE_HOME": "state", "HOME": "/home/me"], "/home/me/.local/state/martlet"),
        (["XDG_STATE_HOME": "", "HOME": "/"], "/.local/state/martlet"),
    ])
    func `without state_dir, the environment says where state is kept`(variables: [String: String], path: String) throws
    {
        #expect(try settings(of: SampleFile().text, variables: variables).stateDirectory == path)
    }

    @Test func `without state_dir, XDG_STATE_HOME and HOME there is nowhere to keep state`() {
        #expect(
            faults(of: SampleFile().text, variables: [:]) == [
                "1:1: state_dir is missing, and neither XDG_STATE_HOME nor HOME says where it would be"
            ]
        )
        #expect(faults(of: SampleFile().adding("state_dir: /s").text, variables: [:]) == [])
    }

    @Test func `paths of written files are relative to state_dir, and state_dir to the file`() throws {
        let settings = try settings(
            of: SampleFile().adding(
                """
                state_dir: ./state
                admin: { token_file: a/b }
                store: { path: /abs/t.db, sealing_key_file: s.key }
                """
            ).text
        )
        #expect(settings.stateDirectory == "/etc/martlet/state")
        #expect(settings.admin.tokenFile == "/etc/martlet/state/a/b")
        #expect(settings.store == .single(.sqlite(path: "/abs/t.db"), sealingKey: .file("/etc/martlet/state/s.key")))
    }

    @Test func `a dollar sign with braces has no special meaning`() throws {
        let settings = try settings(of: SampleFile().provider("client_id: ${CLIENT_ID}").text)
        #expect(settings.providers.first?.clientID == "${CLIENT_ID}")
    }

    @Test(arguments: ["0123", "yes", "1e3", "123.450", "2024-01-01", "\"null\"", "'~'"])
    func `text is kept as written, even if YAML reads it as another type`(written: String) throws {
        let settings = try settings(of: SampleFile().provider("client_id: \(written)").text)
        #expect(settings.providers.first?.clientID == written.filter { $0 != "\"" && $0 != "'" })
    }

    @Test func `an unused account and an unused provider get a warning`() throws {
        let settings = try settings(
            of: """
                providers:
                  acme: { issuer: https://a.example, client_id: a }
                  spare: { issuer: https://b.example, client_id: b }
                accounts:
                  alice: { provider: acme }
                  bob: { provider: acme }
                routes:
                  - { name: r, match: { path: / }, upstream: http://127.0.0.1:9000/, account: alice }
                """
        )
        #expect(
            settings.warnings.map(\.description) == [
                "martlet.yaml:3:3: providers.spare: no account uses it",
                "martlet.yaml:6:3: accounts.bob: no route uses it",
            ]
        )
    }

    @Test func `a gateway without routes gets a warning`() throws {
        let settings = try settings(of: "providers: {}\naccounts: {}\nroutes: []\n")
        #expect(
            settings.warnings.map(\.description) == [
                "martlet.yaml:3:1: routes: is empty, every request will be answered with 404"
            ]
        )
    }

    @Test func `a setting without effect gets a warning`() throws {
        let text = SampleFile().provider("client_secret: { env: S }", "client_auth: none")
            .adding("store: { driver: memory, path: x }").text
        let settings = try settings(of: text, variables: ["HOME": "/h", "S": "canary"])
        #expect(settings.store == .memory)
        #expect(
            settings.warnings.map(\.description) == [
                "martlet.yaml:5:5: providers.acme.client_secret: is never sent, because client_auth is none",
                "martlet.yaml:14:26: store.path: has no effect with the memory driver",
            ]
        )
    }
}
