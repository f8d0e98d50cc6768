import OAuth
import Settings
import Testing
import TokenModel

/// The client authentication of a provider, and the grants that mint an account's tokens.
@Suite struct ClientTests {
    private static let variables = ["HOME": "/h", "OLD": "canary-old", "NEW": "canary-new"]
    private static let secrets = ["/etc/martlet/k.pem": "canary-key", "/etc/martlet/p": "canary-password"]
    private static let key = "private_key: { file: k.pem, algorithm: ES256, key_id: k1 }"

    private func provider(_ lines: String...) throws -> ProviderSettings? {
        var file = SampleFile()
        for line in lines { file = file.provider(line) }
        return try settings(of: file.text, variables: Self.variables, secrets: Self.secrets).providers.first
    }

    private func lines(_ file: SampleFile) -> [String] {
        faults(of: file.text, variables: Self.variables, secrets: Self.secrets)
    }

    @Test func `several secrets keep their order`() throws {
        let acme = try self.provider("client_secret: [{ env: NEW }, { env: OLD }]")
        #expect(acme?.clientSecrets.map(\.value) == [Secret("canary-new"), Secret("canary-old")])
        #expect(acme?.clientAuthentication == .basic)
    }

    @Test(arguments: [
        ("[]", "5:20: providers.acme.client_secret: must name between 1 and 4 secrets"),
        (
            "[{ env: OLD }, { env: OLD }, { env: OLD }, { env: OLD }, { env: OLD }]",
            "5:20: providers.acme.client_secret: must name between 1 and 4 secrets"
        ),
        (
            "[{ env: OLD }, { env: X }]",
            "5:37: providers.acme.client_secret[1].env: the environment has no such variable: "
                + "set it where martlet starts, or write { file: PATH }"
        ),
        ("[[{ env: OLD }]]", "5:21: providers.acme.client_secret[0]: expected a mapping, found a list"),
        (
            "[canary]",
            "5:21: providers.acme.client_secret[0]: a secret must not be written in this file; "
                + "expected { file: PATH } or { env: NAME }"
        ),
    ])
    func `each secret of a list must exist`(written: String, fault: String) {
        #expect(self.lines(SampleFile().provider("client_secret: \(written)")) == [fault])
    }

    @Test func `a private key alone means private_key_jwt`() throws {
        let acme = try self.provider(Self.key)
        #expect(acme?.clientAuthentication == .privateKeyJWT)
        #expect(acme?.privateKey?.file == "/etc/martlet/k.pem")
        #expect(acme?.privateKey?.algorithm == .es256)
        #expect(acme?.privateKey?.keyID == "k1")
        #expect(acme?.assertionAudience == AssertionAudience())
        let named = try self.provider("private_key: { file: k.pem, algorithm: RS256, audience: https://a.example/ }")
        #expect(named?.assertionAudience == AssertionAudience(token: "https://a.example/"))
        let both = try self.provider(
            "private_key: { file: k.pem, algorithm: RS256, audience: { token: https://a.example/, revocation: https://r.example/ } }"
        )
        #expect(
            both?.assertionAudience
                == AssertionAudience(token: "https://a.example/", revocation: "https://r.example/")
        )
        let revocation = try self.provider(
            "private_key: { file: k.pem, algorithm: RS256, audience: { revocation: https://r.example/ } }"
        )
        #expect(revocation?.assertionAudience == AssertionAudience(revocation: "https://r.example/"))
        #expect(named?.privateKey?.keyID == nil)
    }

    @Test func `a configured certificate is used beside any client authentication`() throws {
        let mutual = try self.provider("client_auth: tls_client_auth", "tls: { certificate: c.pem, key: k.pem }")
        #expect(mutual?.clientAuthentication == .tlsClientAuth)
        #expect(mutual?.identity == CertificateSettings(certificate: "/etc/martlet/c.pem", key: "/etc/martlet/k.pem"))
        let both = try self.provider("client_secret: { env: NEW }", "tls: { certificate: c.pem, key: k.pem }")
        #expect(both?.clientAuthentication == .basic)
        #expect(both?.identity != nil)
    }

    @Test(arguments: [
        (
            ["client_auth: private_key_jwt"],
            ["5:18: providers.acme.client_auth: private_key_jwt needs a private_key, which is missing"]
        ),
        (
            ["client_auth: tls_client_auth"],
            [
                "5:18: providers.acme.client_auth: tls_client_auth needs tls.certificate and tls.key, which are missing"
            ]
        ),
        (
            ["client_auth: client_secret_post", "client_secret: { env: NEW }", key],
            [
                "7:18: providers.acme.private_key: is for client_auth: private_key_jwt, "
                    + "and client_auth is client_secret_post"
            ]
        ),
        (
            ["client_secret: { env: NEW }", key],
            [
                "6:18: providers.acme.private_key: stands beside client_secret: "
                    + "client_auth must say which of them is used"
            ]
        ),
        (["private_key: { file: k.pem }"], ["5:5: providers.acme.private_key: algorithm is missing"]),
        (["private_key: { algorithm: RS256 }"], ["5:5: providers.acme.private_key: file is missing"]),
        (
            ["private_key: { file: k.pem, algorithm: HS256 }"],
            [#"5:44: providers.acme.private_key.algorithm: unknown value, did you mean "RS256"?"#]
        ),
        (
            ["private_key: { file: none.pem, algorithm: RS256 }"],
            ["5:26: providers.acme.private_key.file: /etc/martlet/none.pem can't be read: it is not there"]
        ),
        (
            ["tls: { certificate: c.pem }"],
            ["5:25: providers.acme.tls.certificate: needs its key: add key: PATH"]
        ),
        (
            ["tls: { key: k.pem }"],
            ["5:17: providers.acme.tls.key: is nothing without its certificate, add certificate: PATH"]
        ),
    ])
    func `a conflict between settings is reported`(written: [String], expected: [String]) {
        var file = SampleFile()
        for line in written { file = file.provider(line) }
        #expect(self.lines(file) == expected)
    }

    @Test(arguments: [
        ("file: k.pem", "my-app", true), ("file: copy.pem", "my-app", true), ("file: k.pem", "other", false),
        ("file: p.pem", "my-app", false),
    ])
    func `two providers may not share a key and a client_id`(key: String, clientID: String, isFault: Bool) {
        let text =
            SampleFile().provider("client_id: my-app").provider(Self.key).text.replacing(
                "accounts:",
                with: """
                      twin:
                        token_endpoint: https://twin.example/token
                        client_id: \(clientID)
                        private_key: { \(key), algorithm: ES256 }
                    accounts:
                    """,
                maxReplacements: 1
            )
        let secrets = ["/etc/martlet/k.pem": "one", "/etc/martlet/copy.pem": "one", "/etc/martlet/p.pem": "another"]
        let found = faults(of: text, variables: Self.variables, secrets: secrets)
        #expect(found.count == (isFault ? 1 : 0), "\(found)")
        #expect(
            found.allSatisfy { $0.contains("providers.twin: has the private key and the client_id of acme") },
            "\(found)"
        )
    }

    @Test(arguments: [
        ("https://a.example/token", "https://a.example:443/revoke", "", false),
        ("https://a.example/token", "https://b.example/revoke", "", true),
        ("https://a.example/token", "https://a.example:8443/revoke", "", true),
        ("https://a.example/token", "https://b.example/revoke", ", audience: https://a.example/", false),
        (
            "https://a.example/token", "https://b.example/revoke", ", audience: { revocation: https://b.example/ }",
            false
        ),
    ])
    func `a signing client needs a configured audience if its revocation endpoint has another origin`(
        token: String,
        revocation: String,
        audience: String,
        isFault: Bool
    ) {
        let file = SampleFile().provider(without: "issuer").provider("token_endpoint: \(token)")
            .provider("revocation_endpoint: \(revocation)")
            .provider("private_key: { file: k.pem, algorithm: ES256\(audience) }")
        let found = self.lines(file)
        #expect(found.count == (isFault ? 1 : 0), "\(found)")
        #expect(
            found.allSatisfy { $0.contains("revocation_endpoint: is at another origin than token_endpoint") },
            "\(found)"
        )
    }

    @Test func `a secret that is unused because of a key gets a warning`() throws {
        let text = SampleFile().provider("client_auth: private_key_jwt").provider(Self.key)
            .provider("client_secret: { env: NEW }").text
        let read = try settings(of: text, variables: Self.variables, secrets: Self.secrets)
        #expect(read.warnings.map(\.message) == ["is never sent, because client_auth is private_key_jwt"])
    }

    @Test func `a secret file of another user is accepted with a warning`() throws {
        let path = "/etc/martlet/foreign"
        let read = try settings(
            of: SampleFile().provider("client_secret: { file: foreign }").text,
            secrets: [path: "canary"]
        )
        #expect(read.warnings.map(\.path) == ["providers.acme.client_secret.file"])
        #expect(read.warnings.map(\.message) == ["\(path) belongs to another user"])
    }

    @Test(arguments: [
        ("admin: { token_file: /mnt/foreign.token }", "admin.token_file"),
        ("store: { sealing_key_file: /mnt/foreign.key }", "store.sealing_key_file"),
    ])
    func `a gateway file of another user is accepted with a warning`(line: String, path: String) throws {
        let read = try settings(of: SampleFile().adding(line).text)
        #expect(read.warnings.map(\.path) == [path])
    }

    @Test func `accounts sign in with a password, or present an assertion`() throws {
        let password = SampleFile().account(
            "alice: { provider: acme, grant: password, username: { env: OLD }, password: { file: p } }"
        )
        let alice = try settings(of: password.text, variables: Self.variables, secrets: Self.secrets).accounts.first
        #expect(alice?.owner?.username.value == Secret("canary-old"))
        #expect(alice?.owner?.password.origin == .file("/etc/martlet/p"))

        let bearer = SampleFile().account(
            "alice: { provider: acme, grant: jwt-bearer, assertion: { issuer: me@x, subject: you@x, audience: a, "
                + "private_key: { file: k.pem, algorithm: RS256, key_id: k } } }"
        )
        let robot = try settings(of: bearer.text, variables: Self.variables, secrets: Self.secrets).accounts.first
        #expect(robot?.assertion?.issuer == "me@x")
        #expect(robot?.assertion?.subject == "you@x")
        #expect(robot?.assertion?.audience == "a")
        #expect(robot?.assertion?.key.algorithm == .rs256)
    }

    @Test(arguments: [
        (
            "{ provider: acme, grant: password }",
            ["6:3: accounts.alice: password is missing", "6:3: accounts.alice: username is missing"]
        ),
        (
            "{ provider: acme, grant: password, username: me, password: { env: OLD } }",
            [
                "6:55: accounts.alice.username: a secret must not be written in this file; "
                    + "expected { file: PATH } or { env: NAME }"
            ]
        ),
        (
            "{ provider: acme, password: { env: OLD } }",
            ["6:28: accounts.alice.password: is for grant: password"]
        ),
        ("{ provider: acme, grant: jwt-bearer }", ["6:3: accounts.alice: assertion is missing"]),
        (
            "{ provider: acme, grant: jwt-bearer, assertion: {} }",
            [
                "6:47: accounts.alice.assertion: issuer is missing",
                "6:47: accounts.alice.assertion: private_key is missing",
            ]
        ),
        (
            "{ provider: acme, grant: client_credentials, assertion: {} }",
            ["6:55: accounts.alice.assertion: is for grant: jwt-bearer"]
        ),
    ])
    func `a grant has all its own settings, and none of another grant`(written: String, expected: [String]) {
        #expect(self.lines(SampleFile().account("alice: \(written)")) == expected)
    }

    @Test func `the summary names files and variables, and no secret`() throws {
        let text = SampleFile().provider("client_secret: [{ env: NEW }, { file: p }]")
            .account(
                "alice: { provider: acme, grant: password, username: { env: OLD }, password: { file: p } }"
            ).text
        let summary = SettingsSummary(try settings(of: text, variables: Self.variables, secrets: Self.secrets))
            .description
        #expect(summary.contains("secret from environment variable NEW, else from file /etc/martlet/p"))
        #expect(
            summary.contains(
                "alice: password at acme, name from environment variable OLD, password from file /etc/martlet/p"
            )
        )
        let signing = SampleFile().provider(Self.key)
        let other = SettingsSummary(
            try settings(of: signing.text, variables: Self.variables, secrets: Self.secrets)
        ).description
        #expect(other.contains("authentication private_key_jwt, ES256 key from file /etc/martlet/k.pem as k1"))
        #expect(!summary.contains("canary") && !other.contains("canary"))
    }
}
