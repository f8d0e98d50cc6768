import Settings
import Testing
import TokenModel

@Suite struct CallerTests {
    static let digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
    static let other = String(repeating: "0123456789abcdef", count: 4)
    static let line = "callers: [{ name: reports, key_sha256: \(digest) }]"

    private func callers(_ text: String) throws -> [CallerSettings] {
        try #require(try settings(of: SampleFile().adding(text).text).callers)
    }

    @Test func `a file without callers has none`() throws {
        #expect(try settings(of: SampleFile().text).callers == nil)
    }

    @Test func `a caller has a name and a key, and may use everything`() throws {
        let caller = try #require(try self.callers(Self.line).first)
        #expect(caller.name == "reports")
        #expect(caller.keyDigests.count == 1)
        #expect(caller.keyDigests.first?.prefix(4) == [0x9F, 0x86, 0xD0, 0x81])
        #expect(caller.keyDigests.first?.count == 32)
        #expect(caller.routes == nil && caller.accounts == nil && caller.methods == nil)
    }

    @Test func `a caller may have several keys, and be limited to some routes, accounts and methods`() throws {
        let callers = try self.callers(
            """
            callers:
              - name: reports
                key_sha256: [\(Self.digest), \(Self.other.uppercased())]
                routes: [acme]
                accounts: [alice]
                methods: [GET, POST, PURGE]
              - { name: batch, key_sha256: \(String(repeating: "11", count: 32)) }
            """
        )
        #expect(callers.map(\.name) == ["reports", "batch"])
        #expect(callers.first?.keyDigests.count == 2)
        #expect(callers.first?.keyDigests.last?.prefix(2) == [0x01, 0x23])
        #expect(callers.first?.routes == ["acme"])
        #expect(callers.first?.accounts == [.name(AccountID("alice"))])
        #expect(callers.first?.methods == ["GET", "POST", "PURGE"])
        // A digest of decimal digits only is text, not a number.
        #expect(callers.last?.keyDigests == [[UInt8](repeating: 0x11, count: 32)])
    }

    private static let key = "key_sha256: \(digest)"

    @Test(arguments: [
        (
            "callers: []",
            "12:10: callers: is empty, nobody could use the gateway; without callers this machine's users can"
        ),
        ("callers: {}", "12:10: callers: expected a list, found a mapping"),
        ("callers: [reports]", "12:11: callers[0]: expected a mapping, found text"),
        ("callers: [{ \(key) }]", "12:11: callers[0]: name is missing"),
        (
            "callers: [{ name: a }]",
            "12:11: callers[0]: needs key_sha256, certificate or peer; martlet callers new makes a key and its line"
        ),
        (
            "callers: [{ name: a b, \(key) }]",
            "12:19: callers[0].name: a name has 1 to 64 letters, digits, dots, underscores or hyphens"
        ),
        (
            "callers: [{ name: a, key_sha265: b }]",
            #"12:22: callers[0].key_sha265: unknown key, did you mean "key_sha256"?"#
        ),
        (
            "callers: [{ name: a, key_sha256: martlet_canary }]",
            "12:34: callers[0].key_sha256: expected 64 hexadecimal digits, the SHA-256 of the key: "
                + "martlet callers new makes both"
        ),
        (
            "callers: [{ name: a, key_sha256: [\(digest), \(digest.dropLast())x] }]",
            "12:101: callers[0].key_sha256[1]: expected 64 hexadecimal digits, the SHA-256 of the key: "
                + "martlet callers new makes both"
        ),
        (
            "callers: [{ name: a, key_sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 }]",
            "12:34: callers[0].key_sha256: is the SHA-256 of the empty string, not of a key"
        ),
        (
            "callers: [{ name: a, key_sha256: [] }]",
            "12:34: callers[0].key_sha256: is empty: martlet callers new makes a key and its line"
        ),
        (
            "callers: [{ name: a, key_sha256: {} }]",
            "12:34: callers[0].key_sha256: expected the SHA-256 of a key, found a mapping"
        ),
        (
            "callers: [{ name: a, key_sha256: [\(digest), \(digest.uppercased())] }]",
            "12:101: callers[0].key_sha256[1]: is given twice"
        ),
        (
            "callers:\n  - { name: a, \(key) }\n  - { name: b, \(key) }",
            "14:28: callers[1].key_sha256: is the key of callers[0] too"
        ),
        (
            "callers:\n  - { name: a, \(key) }\n  - { name: a, key_sha256: \(other) }",
            "14:13: callers[1].name: is the name of callers[0] too, give each a name of its own"
        ),
        (
            "callers:\n  - { \(key), name: a, routes: [acne] }",
            #"13:103: callers[0].routes[0]: there is no such route, did you mean "acme"?"#
        ),
        ("callers:\n  - { \(key), name: a, routes: acme }", "13:102: callers[0].routes: expected a list, found text"),
        (
            "callers:\n  - { \(key), name: a, routes: [] }",
            "13:102: callers[0].routes: is empty; leave it out to allow all"
        ),
        (
            "callers:\n  - { \(key), name: a, accounts: [bob] }",
            "13:105: callers[0].accounts[0]: there is no such account, there is only alice"
        ),
        (
            "callers:\n  - { \(key), name: a, accounts: [] }",
            "13:104: callers[0].accounts: is empty; leave it out to allow all"
        ),
        (
            "callers:\n  - { \(key), name: a, methods: [get] }",
            "13:104: callers[0].methods[0]: must be in upper case, such as GET"
        ),
        ("callers:\n  - { \(key), name: a, methods: [TRACE] }", "13:104: callers[0].methods[0]: is never served"),
        ("callers:\n  - { \(key), name: a, methods: [TRACK] }", "13:104: callers[0].methods[0]: is never served"),
        ("callers:\n  - { \(key), name: a, methods: ['G T'] }", "13:104: callers[0].methods[0]: is not a method"),
        (
            "callers:\n  - { \(key), name: a, methods: [] }",
            "13:103: callers[0].methods: is empty; leave it out to allow all"
        ),
    ])
    func `a fault in a caller is reported with its position`(text: String, fault: String) {
        let found = faults(of: SampleFile().adding(text).text)
        #expect(found == [fault])
        #expect(found.allSatisfy { !$0.contains("canary") })
    }

    @Test func `a caller that can use no route gets a warning`() throws {
        let text = SampleFile().account("alice: { provider: acme }\n  bob: { provider: acme }").text
        let settings = try settings(of: text + "callers: [{ name: a, key_sha256: \(Self.digest), accounts: [bob] }]\n")
        #expect(settings.warnings.map(\.message) == ["no route uses it", "no route is left that this caller may use"])
    }

    @Test(arguments: [("reports", true), ("a.b-c_1", true), ("", false), ("a b", false), ("..", false), ("ä", false)])
    func `the check of a caller's name follows the rules of the file`(name: String, isName: Bool) {
        #expect(CallerSettings.isName(name) == isName)
    }
}
