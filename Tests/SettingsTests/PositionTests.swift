import Settings
import Testing

@Suite struct PositionTests {
    @Test func `faults deep in flow mappings have exact positions`() {
        let text = SampleFile().route("match: { host: a:1, path: [{ a: { b: c } }] }").text
        #expect(
            faults(of: text) == [
                "9:20: routes[0].match.host: must be a host without a port, an IPv6 address in brackets",
                "9:31: routes[0].match.path: expected a path, found a list",
            ]
        )
    }

    @Test func `faults in a flow mapping over several lines have the right lines`() {
        let text = SampleFile().adding(
            """
            limits: { head: 1KB,
              fields: x, fieldz: 5,
                waiters: 0 }
            """
        ).text
        #expect(
            faults(of: text).map { $0.prefix { $0 != " " } } == ["12:17:", "13:11:", "13:14:", "14:14:"]
        )
    }

    @Test func `a character counts as one column however many bytes it has`() {
        let text = SampleFile().route("match: { host: é, path: x }").text
        #expect(faults(of: text).last == "9:29: routes[0].match.path: must begin with /")
    }

    @Test func `the position of a quoted value is its quote, that of an empty value its key`() {
        let text = SampleFile().route("via: \"true\"", "strip:").text
        #expect(
            faults(of: text) == [
                "12:10: routes[0].via: expected true or false, found text",
                "13:5: routes[0].strip: expected true or false, found nothing",
            ]
        )
    }

    @Test(arguments: ["\r\n", "\r"])
    func `line ends of other systems count as one line end`(lineEnd: String) {
        let text = SampleFile().route("upsteam: x").text.replacing("\n", with: lineEnd)
        #expect(faults(of: text) == [#"12:5: routes[0].upsteam: unknown key, did you mean "upstream"?"#])
    }

    @Test func `a byte order mark does not move positions`() {
        #expect(
            faults(of: "\u{FEFF}log: 1\nproviders: {}\naccounts: {}\nroutes: []\n") == [
                "1:6: log: expected a mapping, found a number"
            ]
        )
    }

    @Test func `a fault in an aliased value is reported where the value is written`() {
        let text = SampleFile().route("timeouts: &slow { connect: 5 }", "inject: *slow").text
        #expect(
            faults(of: text) == [
                "12:23: routes[0].inject.connect: unknown key, there are header, prefix",
                "12:32: routes[0].timeouts.connect: has no unit; write a duration such as 500ms, 8s, 5m or 24h",
            ]
        )
    }

    @Test func `the items of a list are counted from zero`() {
        let text = SampleFile().account("alice: { provider: acme, scopes: [a, [b], 'c d'] }").text
        #expect(
            faults(of: text) == [
                "6:40: accounts.alice.scopes[1]: expected a scope, found a list",
                "6:45: accounts.alice.scopes[2]: is several scopes, write them as items of the list",
            ]
        )
    }

    @Test func `a missing key is reported at the name or the list item that needs it`() {
        let text = """
            providers:
              acme: {}
            accounts:
              alice: {}
            routes:
              - {}
              -
                name: b
            """
        #expect(
            faults(of: text) == [
                "2:3: providers.acme: client_id is missing",
                "2:3: providers.acme: issuer or token_endpoint is missing",
                "4:3: accounts.alice: provider is missing",
                "6:5: routes[0]: account is missing",
                "6:5: routes[0]: match is missing",
                "6:5: routes[0]: name is missing",
                "6:5: routes[0]: upstream is missing",
                "8:5: routes[1]: account is missing",
                "8:5: routes[1]: match is missing",
                "8:5: routes[1]: upstream is missing",
            ]
        )
    }

    @Test func `a fault is one line, whatever the file calls its keys`() {
        let text = SampleFile().adding(#""a\nb\e[2J\u202e": 1"#).text
        let lines = faults(of: text)
        #expect(lines.count == 1)
        #expect(lines.first?.hasPrefix(#"12:1: a\u{a}b\u{1b}[2J\u{202e}: unknown key, there are "#) == true)
    }

    @Test func `a very long key is shown in part`() {
        let text = SampleFile().adding(String(repeating: "k", count: 900) + ": 1").text
        #expect(faults(of: text).first?.hasPrefix("12:1: \(String(repeating: "k", count: 64))…: unknown key") == true)
    }
}
