internal import AdminCLI
internal import Testing

@Suite struct LoopbackSiteTests {
    private static let site = LoopbackSite(.standard, port: 4711)
    private static let host = "127.0.0.1:4711"

    private static func verdict(
        method: String = "GET",
        host: String = Self.host,
        _ path: String = "/callback",
        _ query: String = "?code=c&state=s",
        destination: String? = nil
    ) -> LoopbackSite.Verdict {
        Self.site.verdict(
            on: LoopbackRequest(method: method, host: host, path: path, query: query, destination: destination)
        )
    }

    @Test(arguments: [nil, "document"])
    func `a browser that is sent back brings the whole address`(destination: String?) throws {
        let answer = try #require(SignInAnswer("http://127.0.0.1:4711/callback?code=c&state=s"))
        #expect(Self.verdict(destination: destination) == .answer(answer))
        #expect(Self.verdict("/done", "", destination: destination) == .outcome)
    }

    @Test(arguments: [
        "127.0.0.1", "127.0.0.1:4712", "localhost:4711", "evil.example:4711", "127.0.0.1:4711.evil.example", "",
        "[::1]:4711",
    ])
    func `a request for another host gets nothing`(host: String) {
        #expect(Self.verdict(host: host) == .refuse(.foreign))
        #expect(Self.verdict(host: host, "/done", "") == .refuse(.foreign))
    }

    @Test(arguments: ["empty", "script", "image", "iframe", "embed", "document, image", "Document"])
    func `a request for a part of some page gets nothing`(destination: String) {
        #expect(Self.verdict(destination: destination) == .refuse(.foreign))
    }

    @Test(arguments: ["POST", "HEAD", "OPTIONS", "get"])
    func `other methods are refused`(method: String) {
        #expect(Self.verdict(method: method) == .refuse(.malformed))
    }

    @Test(arguments: ["/", "/callback/", "/Callback", "/callback/x", "/favicon.ico"])
    func `other paths are unknown`(path: String) {
        #expect(Self.verdict(path) == .refuse(.unknown))
    }

    @Test(arguments: ["", "?"])
    func `an address without a query is no answer`(query: String) {
        #expect(Self.verdict("/callback", query) == .refuse(.malformed))
    }

    @Test(
        arguments: [
            ("http://127.0.0.1/callback", nil, "http://127.0.0.1:9/callback", ["127.0.0.1"]),
            ("http://127.0.0.1:8400/cb/x", 8_400, "http://127.0.0.1:8400/cb/x", ["127.0.0.1"]),
            ("http://127.0.0.1:8400", 8_400, "http://127.0.0.1:8400", ["127.0.0.1"]),
            ("HTTP://LocalHost:1/cb", 1, "http://localhost:1/cb", ["127.0.0.1", "::1"]),
            ("http://[::1]/cb", nil, "http://[::1]:9/cb", ["::1"]),
        ] as [(String, Int?, String, [String])]
    )
    func `a redirect URI on loopback says where to listen`(
        text: String,
        port: Int?,
        uri: String,
        addresses: [String]
    ) throws {
        let redirect = try #require(LoopbackRedirect(text))
        #expect(redirect.port == port)
        #expect(redirect.uri(port: port ?? 9) == uri)
        #expect(redirect.addresses == addresses)
    }

    @Test(arguments: [
        "https://127.0.0.1/callback", "http://martlet.example/callback", "http://127.0.0.1:0/", "http://127.0.0.1:x/",
        "http://127.0.0.1:65536/", "http://127.0.0.1/cb?x=y", "http://a@127.0.0.1/", "urn:ietf:wg:oauth:2.0:oob", "",
        "http://[::1/", "http://127.0.0.1 /",
    ])
    func `other redirect URIs are not listened at`(uri: String) {
        #expect(LoopbackRedirect(uri) == nil)
    }

    @Test func `a redirect URI without a path or with the standard port is served as browsers ask for it`() throws {
        let redirect = try #require(LoopbackRedirect("http://127.0.0.1:80"))
        let request = LoopbackRequest(method: "GET", host: "127.0.0.1", path: "/", query: "?code=c")
        let answer = try #require(SignInAnswer("http://127.0.0.1:80/?code=c"))
        #expect(LoopbackSite(redirect, port: 80).verdict(on: request) == .answer(answer))
    }

    @Test func `the page about the outcome never stands at the redirect URI`() throws {
        let redirect = try #require(LoopbackRedirect("http://127.0.0.1/done"))
        #expect(LoopbackSite(redirect, port: 9).outcomePath == "/signed-in")
        #expect(Self.site.outcomePath == "/done")
    }

    @Test func `words of the provider are no markup on the page`() throws {
        let signIn = try SignInFixture.signIn(state: "failed", error: ("access_denied", #"no <b onclick='x'> & "so""#))
        let response = String(decoding: LoopbackPage.outcome(signIn).response, as: UTF8.self)
        #expect(response.contains("no &lt;b onclick=&#39;x&#39;&gt; &amp; &quot;so&quot;. You can close this page"))
        #expect(!response.contains("<b "))
    }

    @Test func `every page forbids scripts, storing and referrers`() throws {
        let signIn = try SignInFixture.signIn(state: "done")
        let pages: [LoopbackPage] = [
            .outcome(signIn), .failure, .redirect(to: "/done"), .refusal("no"), .refusal(.unknown),
        ]
        for page in pages {
            let response = String(decoding: page.response, as: UTF8.self)
            for field in [
                "Cache-Control: no-store", "Referrer-Policy: no-referrer",
                "Content-Security-Policy: default-src 'none'; ", "X-Content-Type-Options: nosniff", "Connection: close",
            ] {
                #expect(response.contains("\r\n\(field)"), "\(field)")
            }
        }
    }
}
