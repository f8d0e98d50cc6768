import Settings
import Testing
import TokenModel

/// Routes on which the request names the account.
@Suite struct RouteAccountTests {
    private static let header = "account: { from_header: Martlet-Account }"
    private static let two = "alice: { provider: acme }\n  bob: { provider: acme }"

    /// - Parameter callers: for each caller, its settings besides the name. Each caller has its own key.
    private func text(_ account: String = header, callers: String...) -> String {
        let lines = callers.enumerated().map { index, line in
            "  - { name: caller\(index), key_sha256: \(String(repeating: "\(index)a", count: 32))\(line) }"
        }
        return SampleFile().account(Self.two).route(account).adding("callers:").text + lines.joined(separator: "\n")
            + "\n"
    }

    @Test(arguments: ["Martlet-Account", "martlet-account", "MARTLET-ACCOUNT"])
    func `a request may name the account`(name: String) throws {
        let settings = try settings(of: self.text("account: { from_header: \(name) }", callers: ""))
        #expect(settings.routes.map(\.account) == [.fromHeader])
        #expect(settings.warnings.isEmpty)
    }

    @Test func `the summary says which account a route uses`() throws {
        let summary = SettingsSummary(try settings(of: self.text(callers: ""))).lines
        #expect(summary.contains { $0.hasSuffix(" as the caller's account that Martlet-Account names") })
        let fixed = SettingsSummary(try settings(of: SampleFile().text)).lines
        #expect(fixed.contains { $0.hasSuffix(" as alice") })
    }

    @Test func `without callers, a request can't name the account`() {
        #expect(
            faults(of: SampleFile().route(Self.header).text) == [
                "11:16: routes[0].account.from_header: needs callers: without them anybody could choose any account"
            ]
        )
    }

    @Test(arguments: [
        (
            "{ from_header: X-Account }",
            "routes[0].account.from_header: must be Martlet-Account, the one field that never goes upstream"
        ),
        (
            "{ from_header: Martlet-Key }",
            "routes[0].account.from_header: must be Martlet-Account, the one field that never goes upstream"
        ),
        ("{ from_header: '' }", "routes[0].account.from_header: is empty"),
        ("{}", "routes[0].account: from_header is missing"),
        (
            "{ from_heder: Martlet-Account }",
            #"routes[0].account.from_heder: unknown key, did you mean "from_header"?"#
        ),
        ("[alice]", "routes[0].account: expected the name of the account, found a list"),
    ])
    func `a route's account is a name or the Martlet-Account field`(account: String, fault: String) {
        let found = faults(of: SampleFile().route("account: \(account)").adding(CallerTests.line).text)
        #expect(found.count == 1)
        #expect(found.first?.hasSuffix(" " + fault) == true)
    }

    @Test func `an account that no caller may choose gets a warning`() throws {
        let some = try settings(of: self.text(callers: ", accounts: [alice]"))
        #expect(some.warnings.map(\.message) == ["no route uses it"])
        let all = try settings(of: self.text(callers: ", accounts: [alice]", ", accounts: [bob]"))
        #expect(all.warnings.isEmpty)
    }

    @Test func `tokens of several providers for one upstream get a warning`() throws {
        let providers = "  other:\n    issuer: https://login.other.example\n    client_id: my-app\n"
        let text = self.text(callers: "").replacing("bob: { provider: acme }", with: "bob: { provider: other }")
            .replacing("accounts:\n", with: providers + "accounts:\n", maxReplacements: 1)
        #expect(
            try settings(of: text).warnings.map(\.message) == [
                "callers may have acme send its upstream tokens of several providers"
            ]
        )
        let narrow = text.replacing(
            String(repeating: "0a", count: 32),
            with: "\(String(repeating: "0a", count: 32)), accounts: [alice]"
        )
        #expect(try settings(of: narrow).warnings.map(\.message) == ["no route uses it"])
    }
}
