import Settings
import Testing

/// The listener that receives the answers to sign-ins.
@Suite struct LoginListenerTests {
    private static func file(_ inner: String) -> SampleFile { SampleFile().adding("login: { \(inner) }") }
    private static let uri = "redirect_uri: https://martlet.example/login/callback"

    @Test func `without login there is no such listener`() throws {
        #expect(try settings(of: SampleFile().text).login == nil)
    }

    @Test func `the listener has an address, a redirect URI and perhaps a certificate`() throws {
        let plain = try settings(of: Self.file("address: 127.0.0.1:8083, \(Self.uri)").text)
        #expect(plain.login?.address.port == 8083)
        #expect(plain.login?.redirectURI.text == "https://martlet.example/login/callback")
        #expect(plain.login?.tls == nil)
        #expect(
            SettingsSummary(plain).lines.contains(
                "sign-ins come back to https://martlet.example/login/callback, on 127.0.0.1:8083"
            )
        )
        let tls = Self.file("address: 0.0.0.0:8443, tls: { certificate: c.pem, key: k.pem }, \(Self.uri)")
        let encrypted = try settings(of: tls.text, secrets: ["/etc/martlet/k.pem": "k"])
        #expect(encrypted.login?.tls?.certificate == "/etc/martlet/c.pem")
        #expect(
            SettingsSummary(encrypted).lines.contains(
                "sign-ins come back to https://martlet.example/login/callback, on 0.0.0.0:8443 over TLS with /etc/martlet/c.pem"
            )
        )
    }

    @Test func `another address than loopback needs tls or allow_cleartext`() throws {
        let line = "address: 10.0.0.1:8083, \(Self.uri)"
        #expect(
            faults(of: Self.file(line).text) == [
                "12:19: login.address: must be a loopback address such as 127.0.0.1 or [::1]: another needs tls, or "
                    + "allow_cleartext: true behind a proxy with TLS"
            ]
        )
        #expect(faults(of: Self.file(line + ", allow_cleartext: true").text) == [])
        #expect(faults(of: Self.file(line + ", allow_cleartext: false").text).count == 1)
    }

    @Test(arguments: [
        ("address: 127.0.0.1:8080", "listeners[0]"), ("address: 127.0.0.1:8081", "admin"),
        ("address: 127.0.0.1:8082", "metrics"),
    ])
    func `the listener needs an address of its own`(address: String, owner: String) {
        let file = Self.file("\(address), \(Self.uri)").adding("metrics: { address: 127.0.0.1:8082 }")
        #expect(faults(of: file.text) == ["12:19: login.address: is the address of \(owner) too"])
    }

    @Test func `ports that the system chooses never collide`() {
        let file = Self.file("address: 127.0.0.1:0, \(Self.uri)").adding("admin: { address: 127.0.0.1:0 }")
        #expect(faults(of: file.text) == [])
    }

    @Test(arguments: [
        ("https://m.example/callback", "must have a path below /login/, such as /login/callback"),
        ("https://m.example/login/", "must have a path below /login/, such as /login/callback"),
        ("https://m.example/login", "must have a path below /login/, such as /login/callback"),
        ("https://m.example/Login/callback", "must have a path below /login/, such as /login/callback"),
        ("https://m.example/login/start", "must not begin with /login/start, which is a page of the gateway"),
        ("https://m.example/login/start/x", "must not begin with /login/start, which is a page of the gateway"),
        ("https://m.example/login/done/x", "must not begin with /login/done, which is a page of the gateway"),
        ("https://m.example/login/%73tart/x", "has a path that must write %73 as s"),
        ("https://m.example/login//start", "has a path that has an empty segment (//)"),
        ("http://m.example/login/callback", "must be https://, or http:// on 127.0.0.1, [::1] or localhost"),
        ("https://m.example/login/callback?x", "must not have a query"),
    ])
    func `a redirect URI that the listener can't serve is refused`(uri: String, reason: String) {
        let found = faults(of: Self.file("address: 127.0.0.1:8083, redirect_uri: '\(uri)'").text)
        #expect(found.count == 1)
        #expect(found.first?.hasPrefix("12:49: login.redirect_uri: \(reason)") == true)
    }

    @Test(arguments: ["http://127.0.0.1:8083/login/callback", "https://m.example:8443/login/a/b/"])
    func `other paths below login and loopback are fine`(uri: String) {
        #expect(faults(of: Self.file("address: 127.0.0.1:8083, redirect_uri: '\(uri)'").text) == [])
    }

    @Test(arguments: [
        ("address: 127.0.0.1:8083", "12:1: login: redirect_uri is missing"),
        (uri, "12:1: login: address is missing"),
        (
            "address: 127.0.0.1:8083, \(uri), tls: { certificate: c.pem }",
            "12:89: login.tls: key is missing"
        ),
        (
            "address: 127.0.0.1:8083, \(uri), host: m.example",
            "12:89: login.host: unknown key, there are address, tls, redirect_uri, allow_cleartext"
        ),
    ])
    func `a fault in the listener is reported with its position`(inner: String, fault: String) {
        #expect(faults(of: Self.file(inner).text) == [fault])
    }

    @Test(arguments: [
        ("https://martlet.example/login/acme", true),
        ("https://martlet.example:443/login/acme", true),
        ("http://127.0.0.1/callback", true),
        ("http://127.0.0.1:8400/callback", true),
        ("https://martlet.example/callback", false),
        ("https://martlet.example/login/start/acme", false),
        ("https://martlet.example:8443/login/acme", false),
        ("https://other.example/login/acme", false),
    ])
    func `a provider's redirect URI that only --paste can use gets a warning`(uri: String, isUsable: Bool) throws {
        let provider = SampleFile().provider("login: { redirect_uri: '\(uri)' }")
        let file = provider.adding("login: { address: 127.0.0.1:8083, \(Self.uri) }")
        let warnings = try settings(of: file.text).warnings
        #expect(
            warnings.map(\.description)
                == (isUsable
                    ? []
                    : [
                        "martlet.yaml:5:14: providers.acme.login.redirect_uri: is not at the gateway's own login listener, "
                            + "so people can sign in with martlet login --paste only"
                    ])
        )
        #expect(try settings(of: provider.text).warnings.isEmpty)
    }

    @Test func `two providers may have the same redirect URI`() {
        let text = SampleFile().provider("login: { \(Self.uri) }").text.replacing(
            "accounts:",
            with: "  other: { issuer: https://o.example, client_id: a, login: { \(Self.uri) } }\naccounts:"
        )
        #expect(faults(of: text) == [])
    }
}
