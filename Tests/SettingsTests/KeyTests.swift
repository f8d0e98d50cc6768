import Settings
import Testing

@Suite struct KeyTests {
    @Test(arguments: [
        ("logging: {}", #"12:1: logging: unknown key, did you mean "log"?"#),
        ("listener: []", #"12:1: listener: unknown key, did you mean "listeners"?"#),
        ("stateDir: x", #"12:1: stateDir: unknown key, did you mean "state_dir"?"#),
        ("shutdown: x", #"12:1: shutdown: unknown key, did you mean "shutdown_grace"?"#),
        ("limits: { feild: 1KiB }", #"12:11: limits.feild: unknown key, did you mean "field"?"#),
        ("limits: { idle_timout: 1s }", #"12:11: limits.idle_timout: unknown key, did you mean "idle_timeout"?"#),
        ("store: { drvier: memory }", #"12:10: store.drvier: unknown key, did you mean "driver"?"#),
        (
            "store: { xyz: memory }",
            "12:10: store.xyz: unknown key, there are driver, path, url, password, ca, prefix, allow_cleartext, sentinel_password, sealing_key, sealing_key_file, current, previous, primary, mirrors"
        ),
        ("log: { level: warn }", #"12:15: log.level: unknown value, did you mean "warning"?"#),
        ("log: { level: loud }", "12:15: log.level: unknown value, there are trace, debug, info, warning, error"),
        ("store: { driver: sqlit }", #"12:18: store.driver: unknown value, did you mean "sqlite"?"#),
        (
            "<<: {}",
            "12:1: <<: unknown key, there are listeners, admin, metrics, store, replica, providers, accounts, routes, callers, limits, log, login, webhook, state_dir, shutdown_grace, require_approval"
        ),
    ])
    func `an unknown word is reported with the known ones`(line: String, fault: String) {
        #expect(faults(of: SampleFile().adding(line).text) == [fault])
    }

    @Test func `a misspelt key is not also reported as missing`() {
        let text = """
            providerz: {}
            accountz: {}
            rootes: []
            """
        #expect(
            faults(of: text) == [
                #"1:1: providerz: unknown key, did you mean "providers"?"#,
                #"2:1: accountz: unknown key, did you mean "accounts"?"#,
                #"3:1: rootes: unknown key, did you mean "routes"?"#,
            ]
        )
    }

    @Test func `the unknown provider of an account is reported even if all providers are missing`() {
        let text = """
            accounts:
              alice: { provider: acme }
            routes: []
            """
        #expect(
            faults(of: text) == [
                "1:1: providers is missing",
                "2:22: accounts.alice.provider: there is no such provider",
            ]
        )
    }

    @Test func `the unknown account of a route is reported even if all accounts are missing`() {
        let text = """
            providers:
              acme: { issuer: https://a.example, client_id: a }
            routes:
              - name: acme
                match: { path: / }
                upstream: http://127.0.0.1:9/
                account: alice
            """
        #expect(
            faults(of: text) == [
                "1:1: accounts is missing",
                "7:14: routes[0].account: there is no such account",
            ]
        )
    }

    @Test func `the admin API's address is no Unix socket`() {
        #expect(
            faults(of: SampleFile().adding("admin: { address: unix:/run/m.sock }").text) == [
                "12:19: admin.address: can't be a Unix socket, only listeners can"
            ]
        )
    }

    @Test func `a repeated key is a fault at its repetition, in order with the other faults`() {
        let text = """
            log: { level: inf, 'level': debug, "level": debug }
            providers:
              acme: { issuer: https://a.example, client_id: a }
              acme: { isuer: https://a.example }
            accounts:
              alice: { provider: acme }
              bob: { provider: acmee }
            routes: []
            log: {}
            """
        #expect(
            faults(of: text) == [
                #"1:15: log.level: unknown value, did you mean "info"?"#,
                "1:20: log.level: is given twice, first at line 1",
                "1:36: log.level: is given twice, first at line 1",
                "4:3: providers.acme: is given twice, first at line 3",
                #"7:20: accounts.bob.provider: there is no such provider, did you mean "acme"?"#,
                "9:1: log: is given twice, first at line 1",
            ]
        )
    }

    @Test func `a repeated key that is written with an escape is a fault too`() {
        let twice = faults(of: #"{ "\x61": 1, a: 2 }"#)
        #expect(twice == ["1:3: a key is given twice in one mapping"])
    }

    @Test func `an alias into a repeated key causes no further fault`() {
        let text = SampleFile().account("&name alice: { provider: acme }\n  alice: {}").route("account: *name").text
        #expect(faults(of: text).count == 1)
        #expect(faults(of: text).first?.contains("twice") == true)
    }

    @Test(arguments: [
        ("listeners: 127.0.0.1:8080", "12:12: listeners: expected a list, found text"),
        ("listeners: { address: a }", "12:12: listeners: expected a list, found a mapping"),
        (
            "listeners: []",
            "12:12: listeners: is empty: write one such as { address: 127.0.0.1:8080 }, or leave it out for that"
        ),
        ("listeners: [127.0.0.1:8080]", "12:13: listeners[0]: expected a mapping, found text"),
        ("admin:", "12:1: admin: expected a mapping, found nothing"),
        ("admin: [a]", "12:8: admin: expected a mapping, found a list"),
        ("store: { driver: [a] }", "12:18: store.driver: expected text, found a list"),
        ("store: { path: {} }", "12:16: store.path: expected a path, found a mapping"),
        ("store: { path: '' }", "12:16: store.path: is empty"),
        ("store: { path: ~/tokens.db }", "12:16: store.path: ~ is not expanded, write the whole path"),
        (#"store: { path: "a\nb" }"#, "12:16: store.path: holds a line break or another control character"),
        ("store: { path: !env X }", "12:16: store.path: expected a path, found a tag"),
        ("limits: { fields: 1.5 }", "12:19: limits.fields: expected a whole number, found a number"),
        ("limits: { fields: '5' }", "12:19: limits.fields: expected a whole number, found text"),
        ("limits: { fields: true }", "12:19: limits.fields: expected a whole number, found true"),
        ("limits: { fields: 0 }", "12:19: limits.fields: must be between 1 and 10000"),
        ("limits: { fields: 99999999999999999999 }", "12:19: limits.fields: must be between 1 and 10000"),
        ("{ a: b }: 1", "12:1: a key must be text: before a colon there is a name"),
    ])
    func `a value of the wrong kind is reported with the expected and the found kind`(line: String, fault: String) {
        #expect(faults(of: SampleFile().adding(line).text) == [fault])
    }
}
