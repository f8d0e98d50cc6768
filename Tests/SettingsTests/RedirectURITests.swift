import Settings
import Testing

@Suite struct RedirectURITests {
    @Test(arguments: [
        ("http://127.0.0.1/callback", true, false, 80, "127.0.0.1"),
        ("http://127.0.0.1:8400/callback", true, true, 8400, "127.0.0.1:8400"),
        ("http://127.0.0.1:80/", true, true, 80, "127.0.0.1"),
        ("http://[::1]/callback", true, false, 80, "[::1]"),
        ("http://[::1]:8400", true, true, 8400, "[::1]:8400"),
        ("http://localhost/callback", true, false, 80, "localhost"),
        ("https://localhost/callback", false, false, 443, "localhost"),
        ("https://martlet.example/login/callback", false, false, 443, "martlet.example"),
        ("https://martlet.example:8443/login/callback", false, true, 8443, "martlet.example:8443"),
    ])
    func `a redirect URI tells whether a command can listen there`(
        text: String,
        isLoopback: Bool,
        hasPort: Bool,
        port: Int,
        authority: String
    ) throws {
        let uri = try RedirectURI(text)
        #expect(uri.isLoopback == isLoopback)
        #expect(uri.hasPort == hasPort)
        #expect(uri.port == port)
        #expect(uri.authority == authority)
        #expect(uri.text == text)
    }

    @Test(arguments: [
        ("http://martlet.example/login/callback", "must be https://, or http:// on 127.0.0.1, [::1] or localhost"),
        ("http://127.0.0.2/callback", "must be https://, or http:// on 127.0.0.1, [::1] or localhost"),
        ("http://[::ffff:127.0.0.1]/callback", "must be https://, or http:// on 127.0.0.1, [::1] or localhost"),
        ("https://a.example/cb?x=1", "must not have a query"),
        ("https://a.example/cb?", "must not have a query"),
        ("https://a.example/cb#x", "must not have a fragment"),
        ("https://me@a.example/cb", "must not hold a user name or password"),
        ("/callback", "expected a URL with https:// or http://"),
        ("com.example.app:/callback", "expected a URL with https:// or http://"),
    ])
    func `a redirect URI that would give the code away is refused`(text: String, reason: String) {
        let error = #expect(throws: ValueError.self) { try RedirectURI(text) }
        #expect(error?.message.hasPrefix(reason) == true)
    }

    @Test func `the standard is what its text says`() throws {
        #expect(RedirectURI.standard == (try RedirectURI("http://127.0.0.1/callback")))
    }

    @Test(arguments: [
        ("http://127.0.0.1/callback", "http://127.0.0.1:50123/callback", true),
        ("http://127.0.0.1/callback", "http://127.0.0.1/callback", true),
        ("http://127.0.0.1/callback", "http://127.0.0.1:50123/other", false),
        ("http://127.0.0.1/callback", "http://localhost:50123/callback", false),
        ("http://127.0.0.1/callback", "https://127.0.0.1:50123/callback", false),
        ("http://127.0.0.1:8400/callback", "http://127.0.0.1:8401/callback", false),
        ("http://127.0.0.1:8400/callback", "http://127.0.0.1:8400/callback", true),
        ("https://martlet.example/login/callback", "https://martlet.example:8443/login/callback", false),
        ("https://martlet.example/login/callback", "https://martlet.example/login/callback", true),
    ])
    func `only loopback without a port admits any port`(registered: String, used: String, isAdmitted: Bool) throws {
        #expect(try RedirectURI(registered).admits(try RedirectURI(used)) == isAdmitted)
    }
}
