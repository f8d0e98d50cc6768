import Settings
import Testing
import TokenModel

/// Accounts that are used only for a while after somebody has agreed.
@Suite struct ApprovalTests {
    private func approval(_ text: String) throws -> ApprovalSettings? {
        try settings(of: SampleFile().adding("require_approval: \(text)").text).requireApproval
    }

    @Test func `without require_approval no account needs an approval`() throws {
        #expect(try settings(of: SampleFile().text).requireApproval == nil)
    }

    @Test func `an approval lasts 15 minutes, and a request waits 30 s for it, unless the file says otherwise`() throws
    {
        let standard = try #require(try self.approval("{ accounts: [alice] }"))
        #expect(standard.duration == .seconds(900))
        #expect(standard.wait == .seconds(30))
        let other = try #require(try self.approval("{ accounts: [alice], for: 2h, wait: 0s }"))
        #expect(other.duration == .seconds(7_200))
        #expect(other.wait == .zero)
    }

    @Test(arguments: [
        ("payments-*", "payments-eu", true), ("payments-*", "payments-", true), ("payments-*", "payment-eu", false),
        ("payments-*", "my-payments-eu", false), ("*-eu", "payments-eu", true), ("*-eu", "payments-eu-1", false),
        ("a*b*c", "abc", true), ("a*b*c", "a-b-b-c", true), ("a*b*c", "acb", false), ("*", "alice", true),
        ("**", "alice", true), ("alice", "alice", true), ("alice", "alice2", false), ("alice", "alic", false),
        ("al.ce", "alice", false), ("a*", "", false),
        ("*a*a*a*a*a*a*a*a*b", String(repeating: "a", count: 64), false),
    ])
    func `a star stands for any characters, and nothing else is special`(
        pattern: String,
        account: String,
        applies: Bool
    ) throws {
        let approval = try #require(try self.approval("{ accounts: [other, \"\(pattern)\"] }"))
        #expect(approval.applies(to: AccountID(account)) == applies)
    }

    @Test func `a pattern that matches no account is a warning`() throws {
        let file = SampleFile().adding("require_approval: { accounts: [\"al*\", \"payments-*\", alicia] }")
        let warnings = try settings(of: file.text).warnings.map(\.description)
        #expect(
            warnings == [
                "martlet.yaml:12:39: require_approval.accounts[1]: matches no account",
                "martlet.yaml:12:53: require_approval.accounts[2]: matches no account",
            ]
        )
    }

    @Test(arguments: [
        ("customer-*", true), ("customer-eu-*", true), ("cust*", true), ("*", true), ("*-eu", true),
        ("customer-1", true), ("customer-*@acme.example", true), ("customer-a@b", true), ("c*x", true),
        ("customer-", false), ("partner-*", false), ("customers-*", false), ("xcustomer-*", false),
    ])
    func `a pattern may match accounts of a family, which come and go`(pattern: String, mayMatch: Bool) throws {
        let file = SampleFile().account("alice: { provider: acme }\n  \"customer-*\": { provider: acme }")
            .adding("require_approval: { accounts: [alice, \"\(pattern)\"] }")
        let warnings = try settings(of: file.text).warnings.map(\.message)
        #expect(warnings.contains("matches no account") == !mayMatch)
    }

    @Test func `of a family only the used accounts that need an approval are listed`() throws {
        let file = SampleFile().account("bob: { provider: acme }\n  \"customer-*\": { provider: acme }")
            .route("account: bob").adding("require_approval: { accounts: [bob, \"customer-eu-*\", other] }")
        let used: Set = ["customer-eu-2", "customer-eu-1", "customer-1", "bob", "other"]
        let listed = try settings(of: file.text).accountsUnderApproval(including: Set(used.map { AccountID($0) }))
        #expect(listed.map(\.rawValue) == ["bob", "customer-eu-1", "customer-eu-2"])
        #expect(try settings(of: SampleFile().text).accountsUnderApproval(including: [AccountID("alice")]).isEmpty)
    }

    @Test(arguments: [
        ("{}", ["12:1: require_approval: accounts is missing"]),
        ("[alice]", ["12:19: require_approval: expected a mapping, found a list"]),
        ("{ accounts: alice }", ["12:31: require_approval.accounts: expected a list, found text"]),
        (
            "{ accounts: [] }",
            ["12:31: require_approval.accounts: is empty; leave require_approval out if no account needs one"]
        ),
        (
            "{ accounts: [\"a b*\"] }",
            [
                "12:32: require_approval.accounts[0]: a pattern has 1 to 128 letters, digits, dots, underscores, hyphens, @ or "
                    + "stars"
            ]
        ),
        (
            "{ accounts: [\"a?\"] }",
            [
                "12:32: require_approval.accounts[0]: a pattern has 1 to 128 letters, digits, dots, underscores, hyphens, @ or "
                    + "stars"
            ]
        ),
        ("{ accounts: [\"\"] }", ["12:32: require_approval.accounts[0]: is empty"]),
        (
            "{ accounts: [alice], for: 999ms }", ["12:45: require_approval.for: must be between 1s and 24h"]
        ),
        ("{ accounts: [alice], for: 25h }", ["12:45: require_approval.for: must be between 1s and 24h"]),
        ("{ accounts: [alice], wait: 6m }", ["12:46: require_approval.wait: must be between 0s and 5m"]),
        ("{ accounts: [alice], fro: 1m }", ["12:40: require_approval.fro: unknown key, did you mean \"for\"?"]),
    ])
    func `a fault is reported with its position`(text: String, expected: [String]) {
        #expect(faults(of: SampleFile().adding("require_approval: \(text)").text) == expected)
    }

    @Test func `the summary says which accounts need an approval`() throws {
        let file = SampleFile().adding("require_approval: { accounts: [\"al*\", alice], for: 1h }")
        let lines = SettingsSummary(try settings(of: file.text)).lines
        #expect(lines.contains("approvals for al* alice, each for 1h, and a request waits 30s for one"))
    }
}
