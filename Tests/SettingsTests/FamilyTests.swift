import Settings
import Testing
import TokenModel

/// Accounts that come and go at run time.
@Suite struct FamilyTests {
    private static let key = "key_sha256: \(CallerTests.digest)"
    private static let header = "account: { from_header: Martlet-Account }"

    /// A file with these lines in `accounts` and one caller, whose account the request names.
    private func file(_ accounts: String..., caller: String = "accounts: [\"customer-*\"]") -> SampleFile {
        SampleFile().account(accounts.joined(separator: "\n  ")).route(Self.header)
            .adding("callers: [{ name: app, \(Self.key), \(caller) }]")
    }

    private func found(_ file: SampleFile) -> [String] { faults(of: file.text) }

    private func warnings(_ file: SampleFile) throws -> [String] {
        try settings(of: file.text).warnings.map { "\($0.path): \($0.message)" }
    }

    @Test func `a family has a provider, scopes and a limit`() throws {
        let file = self.file("\"customer-*\": { provider: acme, scopes: [read, write], max: 100000 }")
        let settings = try settings(of: file.text)
        let family = try #require(settings.families.first)
        #expect(family.family.description == "customer-*")
        #expect(family.provider == ProviderID("acme"))
        #expect(family.scopes == ["read", "write"])
        #expect(family.max == 100_000)
        #expect(settings.accounts.isEmpty)
        #expect(settings.warnings.isEmpty)
    }

    @Test func `by default a family has no scopes and up to 10,000 accounts, and signs in`() throws {
        let file = self.file("\"customer-*\": { provider: acme, grant: refresh_token }")
        let family = try #require(try settings(of: file.text).families.first)
        #expect(family.scopes.isEmpty)
        #expect(family.max == 10_000)
    }

    @Test func `an account's provider is that of its name, else of the longest prefix`() throws {
        let file = self.file(
            "\"customer-*\": { provider: acme }",
            "\"customer-eu-*\": { provider: eu }",
            "customer-eu-1: { provider: acme }",
            "alice: { provider: eu }"
        )
        let text = file.text.replacing(
            "accounts:\n",
            with: "  eu: { issuer: \"https://eu.example\", client_id: my-app }\naccounts:\n",
            maxReplacements: 1
        )
        let providers = try settings(of: text).accountProviders
        let names = ["customer-1", "customer-eu-2", "customer-eu-1", "alice", "customer-", "bob"]
        #expect(names.map { providers[AccountID($0)]?.rawValue } == ["acme", "eu", "acme", "eu", nil, nil])
    }

    @Test(arguments: [
        ("\"*\"", "needs a character before the star: it would cover all accounts"),
        ("\"a*b\"", "must have one star, at its end, such as customer-*"),
        ("\"*-x\"", "must have one star, at its end, such as customer-*"),
        ("\"a**\"", "must have one star, at its end, such as customer-*"),
        (
            "\"-a*\"",
            "a family's prefix has 1 to 127 letters, digits, dots, underscores, hyphens or @, a letter or digit first"
        ),
        (
            "\"kun de*\"",
            "a family's prefix has 1 to 127 letters, digits, dots, underscores, hyphens or @, a letter or digit first"
        ),
        (
            "\"kundé*\"",
            "a family's prefix has 1 to 127 letters, digits, dots, underscores, hyphens or @, a letter or digit first"
        ),
    ])
    func `a pattern is the beginning of names and a star`(pattern: String, fault: String) {
        let name = pattern.replacing("\"", with: "")
        #expect(self.found(self.file("\(pattern): { provider: acme }")) == ["6:3: accounts.\(name): \(fault)"])
    }

    @Test(arguments: [(127, true), (128, false)])
    func `a prefix leaves room for one more character of a name`(length: Int, isValid: Bool) {
        let prefix = String(repeating: "a", count: length)
        let file = self.file("\"\(prefix)*\": { provider: acme }", caller: "accounts: [\"a*\"]")
        #expect(self.found(file).isEmpty == isValid)
    }

    @Test(arguments: [
        (
            "\"c-*\": { provider: acme, grant: client_credentials }",
            [
                "6:35: accounts.c-*.grant: must be refresh_token: an account of a family exists from its import or sign-in, "
                    + "and client_credentials has neither"
            ]
        ),
        (
            "\"c-*\": { provider: acme, grant: passwort }",
            [#"6:35: accounts.c-*.grant: unknown value, did you mean "password"?"#]
        ),
        (
            "\"c-*\": { provider: acme, username: { env: U }, password: { env: P } }",
            [
                "6:28: accounts.c-*.username: is for one account, which has a name of its own",
                "6:50: accounts.c-*.password: is for one account, which has a name of its own",
            ]
        ),
        (
            "\"c-*\": { provider: acme, assertion: {} }",
            ["6:28: accounts.c-*.assertion: is for one account, which has a name of its own"]
        ),
        (
            "\"c-*\": { provider: acne, scopes: [a b] }",
            [
                #"6:22: accounts.c-*.provider: there is no such provider, did you mean "acme"?"#,
                "6:37: accounts.c-*.scopes[0]: is several scopes, write them as items of the list",
            ]
        ),
        ("\"c-*\": { max: 5 }", ["6:3: accounts.c-*: provider is missing"]),
        ("\"c-*\": { provider: acme, max: 0 }", ["6:33: accounts.c-*.max: must be between 1 and 1000000"]),
        ("\"c-*\": { provider: acme, max: 1000001 }", ["6:33: accounts.c-*.max: must be between 1 and 1000000"]),
        (
            "\"c-*\": { provider: acme }\n  \"c-*\": { provider: acme }",
            ["7:3: accounts.c-*: is given twice, first at line 6"]
        ),
        (
            "\"c-*\": { provider: acme }\n  alice: { provider: acme, max: 5 }",
            ["7:28: accounts.alice.max: is for a family of accounts, such as customer-*"]
        ),
        (
            "\"c-*\": { provider: acme }\n  a@b: { provider: acme }",
            ["7:3: accounts.a@b: a name has 1 to 64 letters, digits, dots, underscores or hyphens"]
        ),
    ])
    func `a fault is reported with its position`(accounts: String, expected: [String]) {
        #expect(self.found(self.file(accounts, caller: "accounts: [\"c-*\"]")) == expected)
    }

    @Test(arguments: [
        (
            "\"customer-*\"",
            "is more than one account: with { from_header: Martlet-Account } each request names one"
        ),
        ("\"x*y\"", "is more than one account: with { from_header: Martlet-Account } each request names one"),
        (
            "customer-1",
            "is of the family customer-*, and may not exist: list it in accounts by its name, or use "
                + "{ from_header: Martlet-Account }"
        ),
        ("alicia", #"there is no such account, did you mean "alice"?"#),
        ("customer-", #"there is no such account, did you mean "customer-*"?"#),
    ])
    func `a route has an account that is configured by name`(account: String, fault: String) {
        let file = self.file("alice: { provider: acme }", "\"customer-*\": { provider: acme }")
            .route("account: \(account)")
        #expect(self.found(file) == ["12:14: routes[0].account: \(fault)"])
    }

    @Test func `an account of a family that is configured by name too may have a route of its own`() throws {
        let file = self.file("customer-1: { provider: acme }", "\"customer-*\": { provider: acme }")
            .route("account: customer-1")
        #expect(try settings(of: file.text).routes.map(\.account) == [.fixed(AccountID("customer-1"))])
    }

    @Test(arguments: [
        "customer-*", "customer-eu-*", "cust*", "customer-1", "c*", "ali*", "alice", "customer-a@b.example",
    ])
    func `a caller's accounts are names and patterns`(pattern: String) throws {
        let file = self.file(
            "alice: { provider: acme }",
            "\"customer-*\": { provider: acme }",
            caller: "accounts: [\"\(pattern)\"]"
        )
        let accounts = try settings(of: file.text).callers?.first?.accounts
        #expect(accounts?.map(\.description) == [pattern])
    }

    @Test(arguments: [
        ("partner-*", "there is no such account, there are alice, customer-*"),
        ("custoner-*", #"there is no such account, did you mean "customer-*"?"#),
        ("customer-", #"there is no such account, did you mean "customer-*"?"#),
        ("customer_1", #"there is no such account, did you mean "customer-*"?"#),
        ("customer-é", #"there is no such account, did you mean "customer-*"?"#),
        ("alice-*", #"there is no such account, did you mean "alice"?"#),
        ("*", "needs a character before the star: it would cover all accounts"),
        ("customer-*-x", "must have one star, at its end, such as customer-*"),
    ])
    func `a pattern that covers no account is a fault`(pattern: String, fault: String) {
        let file = self.file(
            "alice: { provider: acme }",
            "\"customer-*\": { provider: acme }",
            caller: "accounts: [\"\(pattern)\"]"
        )
        let found = self.found(file)
        #expect(found.count == 1)
        #expect(found.first?.hasSuffix(" callers[0].accounts[0]: \(fault)") == true)
    }

    @Test(arguments: [
        ("methods: [GET]", true), ("routes: [acme]", true), ("routes: [other]", false), ("acounts: [alice]", false),
    ])
    func `a caller that may use a family's route needs a list of accounts`(caller: String, isNeeded: Bool) {
        let file = self.file("alice: { provider: acme }", "\"customer-*\": { provider: acme }", caller: caller)
        let other =
            "\n  - { name: other, match: { path: /other/ }, upstream: \"http://127.0.0.1:9/\", account: alice }\ncallers:"
        let found = faults(of: file.text.replacing("\ncallers:", with: other))
        let fault =
            "callers[0]: needs accounts: requests on acme choose theirs, and without a list this caller could use each "
            + "account of customer-*"
        #expect(found.contains { $0.hasSuffix(" " + fault) } == isNeeded)
    }

    @Test func `without families a caller needs no list of accounts`() {
        #expect(self.found(self.file("alice: { provider: acme }", caller: "methods: [GET]")).isEmpty)
    }

    @Test func `a family that no route uses, or whose accounts no caller may choose, gets a warning`() throws {
        let fixed = self.file("alice: { provider: acme }", "\"customer-*\": { provider: acme }").route("account: alice")
        #expect(try self.warnings(fixed).contains("accounts.customer-*: no route uses it"))
        let other = self.file("\"a-*\": { provider: acme }", "\"customer-*\": { provider: acme }")
        #expect(try self.warnings(other) == ["accounts.a-*: no route uses it"])
    }

    @Test func `a provider that only a family uses is used`() throws {
        #expect(try self.warnings(self.file("\"customer-*\": { provider: acme }")).isEmpty)
    }

    private func twoProviders(caller: String) throws -> [String] {
        let file = self.file(
            "\"customer-*\": { provider: acme }",
            "\"customer-eu-*\": { provider: eu }",
            caller: "accounts: [\"\(caller)\"]"
        )
        let text = file.text.replacing(
            "accounts:\n",
            with: "  eu: { issuer: \"https://eu.example\", client_id: my-app }\naccounts:\n",
            maxReplacements: 1
        )
        return try settings(of: text).warnings.map(\.message)
    }

    @Test func `tokens of several providers for one upstream get a warning`() throws {
        let both = "callers may have acme send its upstream tokens of several providers"
        #expect(try self.twoProviders(caller: "customer-*") == [both])
        // All of its accounts are of the longer prefix.
        #expect(try self.twoProviders(caller: "customer-eu-*") == ["no route uses it"])
        #expect(try self.twoProviders(caller: "customer-eu-1") == ["no route uses it"])
    }

    @Test func `a scope openid needs the provider's issuer for a family too`() {
        let file = self.file("\"customer-*\": { provider: acme, scopes: [openid] }").provider(without: "issuer")
            .provider("token_endpoint: https://a.example/t", "authorization_endpoint: https://a.example/a")
        let found = self.found(file)
        #expect(found.count == 1)
        #expect(found.first?.contains("accounts.customer-*.scopes: openid needs the provider's issuer") == true)
    }

    @Test func `the summary names families and what callers may use of them`() throws {
        let file = self.file("\"customer-*\": { provider: acme, scopes: [read], max: 500 }")
        let lines = SettingsSummary(try settings(of: file.text)).lines
        #expect(lines.contains("  customer-*: refresh_token at acme, scopes read, up to 500 accounts"))
        #expect(lines.contains("  app: one key, all routes, accounts customer-*, all methods"))
        #expect(!lines.contains("no accounts"))
    }
}
