import Settings
import Testing

@Suite struct RouteTests {
    @Test(arguments: [
        "/", "/acme/", "/a/b/c/", "/a.b/", "/.../", "/a;v=1/", "/caf%C3%A9/", "/a%2Fb/", "/a%20b/", "/~me/", "/a:b@c/",
    ])
    func `a path consists of whole segments in normal form`(path: String) throws {
        let settings = try settings(of: SampleFile().route("match: { path: '\(path)' }").text)
        #expect(settings.routes.first?.match.path == path)
    }

    @Test(arguments: [
        ("acme/", "must begin with /"),
        ("/acme", "must end in /"),
        ("//", "has an empty segment (//)"),
        ("/a//b/", "has an empty segment (//)"),
        ("/./", "must not have . or .. as a segment"),
        ("/a/../", "must not have . or .. as a segment"),
        ("/..;x/", "must not have . or .. as a segment"),
        ("/a%2F..%2Fb/", "must not have . or .. as a segment"),
        ("/a%5C../", "must not have . or .. as a segment"),
        ("/%2E%2E/", "must write %2E as ."),
        ("/%61/", "must write %61 as a"),
        ("/a%2fb/", "must percent-encode with upper-case digits"),
        ("/a%2/", "has a % that two hexadecimal digits must follow"),
        ("/a%G0/", "has a % that two hexadecimal digits must follow"),
        ("/a%00/", "percent-encodes a control character"),
        ("/a%7F/", "percent-encodes a control character"),
        ("/%C0%AE/", "percent-encodes bytes that are not UTF-8"),
        ("/a b/", "holds a character that must be percent-encoded"),
        ("/é/", "holds a character that must be percent-encoded"),
        (#"/a\b/"#, "holds a character that must be percent-encoded"),
        ("/a/?b/", "must not have a query"),
        ("/a/#b/", "must not have a fragment"),
    ])
    func `a path that no request can match is refused`(path: String, message: String) {
        let text = SampleFile().route("match: { path: '\(path)' }").text
        #expect(faults(of: text) == ["9:20: routes[0].match.path: \(message)"])
    }

    @Test(arguments: [
        ("API.Local", "api.local"), ("10.0.0.1", "10.0.0.1"), ("'[0::1]'", "[::1]"), ("localhost", "localhost"),
    ])
    func `a host is compared without case`(written: String, host: String) throws {
        let file = SampleFile().route("match: { path: /, host: \(written) }").adding(Self.callers)
        #expect(try settings(of: file.text).routes.first?.match.host == host)
    }

    @Test(arguments: [
        ("api.local:80", "must be a host without a port, an IPv6 address in brackets"),
        ("'::1'", "must be a host without a port, an IPv6 address in brackets"),
        ("'[::1]:80'", "must be a host without a port, an IPv6 address in brackets"),
        ("'[x]'", "has brackets around what is not an IPv6 address"),
        ("'*.local'", "has a host that is neither a name nor an address"),
        ("a..b", "has a host that is neither a name nor an address"),
        ("-a", "has a host that is neither a name nor an address"),
    ])
    func `a host that no request can name is refused`(written: String, message: String) {
        let text = SampleFile().route("match: { path: /, host: \(written) }").text
        #expect(faults(of: text) == ["9:29: routes[0].match.host: \(message)"])
    }

    private static let callers = "callers: [{ name: reports, peer: { uid: 1001 } }]"

    @Test(arguments: [
        "", "listeners: [{ address: '[::1]:8080' }]",
        "listeners: [{ address: unix:/run/m.sock }, { address: 127.0.0.1:8080 }]",
    ])
    func `without callers, a host on a TCP listener is refused, as web pages could use it`(listeners: String) throws {
        // Given a route for a host name
        let file = SampleFile().route("match: { path: /, host: api.local }").adding(listeners)
        // Then the route is refused without callers
        let found = faults(of: file.text)
        #expect(found.count == 1)
        #expect(found.first?.hasPrefix("9:29: routes[0].match.host: needs callers on a TCP listener: ") == true)
        // And the route is accepted with callers, because every request then needs a proof
        #expect(faults(of: file.adding(Self.callers).text) == [])
    }

    @Test func `without callers, a host on a Unix socket is accepted, as no web page reaches it`() throws {
        let file = SampleFile().route("match: { path: /, host: api.local }")
            .adding("listeners: [{ address: unix:/run/m.sock }]")
        #expect(try settings(of: file.text).routes.first?.match.host == "api.local")
    }

    @Test(arguments: [
        ("http://127.0.0.1/", "127.0.0.1", 80, "/"),
        ("HTTP://localhost:9000/a/", "localhost", 9_000, "/a/"),
        ("http://[::1]:9000/a/b/", "::1", 9_000, "/a/b/"),
    ])
    func `a cleartext upstream on this machine is accepted`(url: String, host: String, port: Int, path: String) throws {
        let upstream = try settings(of: SampleFile().route("upstream: '\(url)'").text).routes.first?.upstream
        #expect(upstream?.host.text == host)
        #expect(upstream?.port == port)
        #expect(upstream?.path == path)
    }

    @Test(arguments: [
        ("api.example/v2/", "expected a URL with https:// or http://"),
        ("ftp://api.example/", "expected a URL with https:// or http://"),
        ("http://127.0.0.1", "must end in /"),
        ("http://127.0.0.1/v2", "must end in /"),
        ("http://127.0.0.1/a//b/", "has an empty segment (//)"),
        ("http://127.0.0.1/a/../b/", "must not have . or .. as a segment"),
        ("http://127.0.0.1/?a=b", "must not have a query"),
        ("http://127.0.0.1/?", "must not have a query"),
        ("http://127.0.0.1/#a", "must not have a fragment"),
        ("http://me:canary@127.0.0.1/", "must not hold a user name or password"),
        ("http://127.0.0.1:0/", "has port 0"),
        (
            "http://127.0.0.1:/",
            "has no port between 0 and 65535 behind its last colon; an IPv6 address needs brackets: [::1]"
        ),
        ("http:///", "has no host"),
        ("http://127.1/", "has a host that is neither a name nor an address"),
        ("http://0x7f000001/", "has a host that is neither a name nor an address"),
        ("http://a b/", "has a host that is neither a name nor an address"),
        ("http://[::1/", "has brackets around what is not an IPv6 address"),
        ("http://::1/", "has no port between 0 and 65535 behind its last colon; an IPv6 address needs brackets: [::1]"),
    ])
    func `an invalid upstream is refused`(url: String, message: String) {
        let text = SampleFile().route("upstream: '\(url)'").text
        #expect(faults(of: text) == ["10:15: routes[0].upstream: \(message)"])
    }

    @Test(arguments: [
        "api.example", "10.0.0.1", "[2001:db8::1]", "127.0.0.1.example", "localhost.example", "a.localhost",
    ])
    func `a token goes unencrypted to another machine only with allow_cleartext`(host: String) {
        let file = SampleFile().route("upstream: 'http://\(host)/'")
        let fault =
            "10:15: routes[0].upstream: tokens would travel unencrypted to \(host): "
            + "use https:// or add allow_cleartext: true"
        #expect(faults(of: file.text) == [fault])
        #expect(faults(of: file.route("allow_cleartext: false").text) == [fault])
        #expect(faults(of: file.route("allow_cleartext: true").text) == [])
    }

    @Test func `an invalid allow_cleartext is the only fault of an unencrypted upstream`() {
        let file = SampleFile().route("upstream: http://api.example/", "allow_cleartext: yes")
        #expect(faults(of: file.text) == ["12:22: routes[0].allow_cleartext: expected true or false, found text"])
    }

    @Test(arguments: [
        ("upstream_tls: {}", nil), ("upstream_tls: { ca: roots.pem }", "/etc/martlet/roots.pem"),
    ])
    func `an upstream over TLS is verified with configured roots or the system's`(
        line: String,
        file: String?
    ) throws {
        let text = SampleFile().route("upstream: https://api.example/v2/", line).text
        let route = try #require(try settings(of: text).routes.first)
        #expect(route.upstream.scheme == .https)
        #expect(route.upstream.port == 443)
        #expect(route.upstreamTLS.certificateAuthorities == file)
    }

    @Test func `the gateway may use a client certificate for an upstream`() throws {
        let line = "upstream_tls: { certificate: c.pem, key: k.pem }"
        let text = SampleFile().route("upstream: https://api.example/v2/", line).text
        let settings = try settings(of: text, secrets: ["/etc/martlet/k.pem": "k"])
        #expect(
            settings.routes.first?.upstreamTLS.identity
                == CertificateSettings(certificate: "/etc/martlet/c.pem", key: "/etc/martlet/k.pem")
        )
        let summary = SettingsSummary(settings).lines
        #expect(summary.contains("    shows the certificate in /etc/martlet/c.pem"))
    }

    @Test(arguments: [
        ("{ ca: missing.pem }", "12:25: routes[0].upstream_tls.ca: /etc/martlet/missing.pem can't be read"),
        (
            "{ certificate: c.pem }",
            "12:34: routes[0].upstream_tls.certificate: needs its key: add key: PATH"
        ),
        (
            "{ key: k.pem }",
            "12:26: routes[0].upstream_tls.key: is nothing without its certificate, add certificate: PATH"
        ),
        (
            "{ certificate: missing.pem, key: k.pem }",
            "12:34: routes[0].upstream_tls.certificate: /etc/martlet/missing.pem can't be read"
        ),
        (
            "{ certificate: c.pem, key: open.pem }",
            "12:46: routes[0].upstream_tls.key: /etc/martlet/open.pem can't be read"
        ),
    ])
    func `a fault in an upstream's TLS settings is reported`(section: String, fault: String) {
        let text = SampleFile().route("upstream: https://api.example/v2/", "upstream_tls: \(section)").text
        #expect(
            faults(of: text, secrets: ["/etc/martlet/k.pem": "k"]).map { $0.hasPrefix(fault) ? fault : $0 } == [fault]
        )
    }

    @Test(arguments: [
        ("account: alcie", #"11:14: routes[0].account: there is no such account, did you mean "alice"?"#),
        ("account: carol", "11:14: routes[0].account: there is no such account, there is only alice"),
        ("account: [alice]", "11:14: routes[0].account: expected the name of the account, found a list"),
        ("name: a/b", "8:11: routes[0].name: a name has 1 to 64 letters, digits, dots, underscores or hyphens"),
        ("name: ..", "8:11: routes[0].name: a name must be more than dots"),
        ("match: /acme/", "9:12: routes[0].match: expected a mapping, found text"),
        ("max_connections: 0", "12:22: routes[0].max_connections: must be between 1 and 65536"),
        ("connection_age: 999ms", "12:21: routes[0].connection_age: must be between 1s and 24h"),
        ("expect: false", "12:13: routes[0].expect: unknown value, there are auto, never"),
        ("expect: nver", #"12:13: routes[0].expect: unknown value, did you mean "never"?"#),
        (
            "upstream_tls: {}",
            "12:19: routes[0].upstream_tls: "
                + "means nothing for an upstream with http://, write https:// there or leave it out"
        ),
    ])
    func `a fault in a route is reported with its position`(line: String, fault: String) {
        #expect(faults(of: SampleFile().route(line).text) == [fault])
    }

    @Test(arguments: ["Authorization", "X-Api-Key", "private_token", "Cookie", "X-Forwarded-Access-Token"])
    func `a token may go into any field that the gateway does not use`(name: String) throws {
        let settings = try settings(of: SampleFile().route("inject: { header: \(name), prefix: 'Token token=' }").text)
        #expect(settings.routes.first?.injection.header == name)
        #expect(settings.routes.first?.injection.prefix == "Token token=")
    }

    @Test(arguments: [
        "Host", "content-length", "Transfer-Encoding", "CONNECTION", "Keep-Alive", "Proxy-Connection", "TE", "Trailer",
        "Upgrade", "HTTP2-Settings", "Proxy-Authorization", "Proxy-Authenticate", "Expect", "Via", "Martlet-Key",
        "Forwarded", "X-Forwarded-For", "x-forwarded-host", "X-Forwarded-Proto", "Content_Length", "MARTLET_KEY",
        "X_Forwarded_For",
    ])
    func `a token never goes into a field that frames or routes`(name: String) {
        let text = SampleFile().route("inject: { header: \(name) }").text
        #expect(
            faults(of: text) == [
                "12:23: routes[0].inject.header: is a field that the gateway itself writes or removes"
            ]
        )
    }

    @Test(arguments: ["'X Y'", "'X:'", "Tøken", "'a,b'"])
    func `an invalid field name is refused`(name: String) {
        let text = SampleFile().route("inject: { header: \(name) }").text
        #expect(
            faults(of: text) == [
                "12:23: routes[0].inject.header: is not the name of a field: letters, digits and !#$%&'*+-.^_`|~ only"
            ]
        )
    }

    @Test(arguments: [
        ("'Tøken '", "must be printable ASCII"),
        ("' Bearer '", "must not begin with a space"),
        (#""Bearer\r\nX: ""#, "holds a line break or another control character"),
        (#""Bearer\t""#, "holds a line break or another control character"),
    ])
    func `an invalid prefix is refused`(prefix: String, message: String) {
        let text = SampleFile().route("inject: { prefix: \(prefix) }").text
        #expect(faults(of: text) == ["12:23: routes[0].inject.prefix: \(message)"])
    }

    @Test(
        arguments: [
            ([], false, ForwardedFields.drop, ""), (["cookies: false", "forwarded: drop"], false, .drop, ""),
            (["cookies: true"], true, .drop, " cookies pass,"),
            (["forwarded: append"], false, .append, " Forwarded and X-Forwarded-* extended,"),
        ] as [([String], Bool, ForwardedFields, String)]
    )
    func `cookies and forwarding fields pass only if the route allows them`(
        lines: [String],
        passesCookies: Bool,
        forwarded: ForwardedFields,
        summary: String
    ) throws {
        let file = lines.reduce(SampleFile()) { $0.route($1) }
        let settings = try settings(of: file.text)
        let route = try #require(settings.routes.first)
        #expect(route.passesCookies == passesCookies)
        #expect(route.forwarded == forwarded)
        let line = SettingsSummary(settings).lines.first { $0.contains("replay of bodies") }
        #expect(
            line?.hasSuffix(
                "up to 64KiB,\(summary) connect 5s, response 5m, idle 5m, 1024 connections per event loop for 10m each"
            ) == true
        )
    }

    @Test(arguments: [
        ("cookies: yes", "12:14: routes[0].cookies: expected true or false, found text"),
        ("cookie: true", #"12:5: routes[0].cookie: unknown key, did you mean "cookies"?"#),
        ("forwarded: apend", #"12:16: routes[0].forwarded: unknown value, did you mean "append"?"#),
        ("forwarded: true", "12:16: routes[0].forwarded: unknown value, there are drop, append"),
    ])
    func `invalid values for cookies and forwarded are refused`(line: String, fault: String) {
        #expect(faults(of: SampleFile().route(line).text) == [fault])
    }

    @Test func `two routes may not share a name, or a host and path`() {
        let file = SampleFile().adding(
            """
              - { name: acme, match: { path: /b/ }, upstream: http://127.0.0.1/, account: alice }
              - { name: c, match: { path: /b/, host: a.b }, upstream: http://127.0.0.1/, account: alice }
              - { name: d, match: { path: /b/, host: A.B }, upstream: http://127.0.0.1/, account: alice }
              - { name: e, match: { path: /acme/ }, upstream: http://127.0.0.1/, account: alice }
            \(Self.callers)
            """
        )
        #expect(
            faults(of: file.text) == [
                "12:13: routes[1].name: is the name of routes[0] too, give each a name of its own",
                "14:23: routes[3].match: routes[2] has the same host and path, change those or take one of the two out",
                "15:23: routes[4].match: routes[0] has the same host and path, change those or take one of the two out",
            ]
        )
    }

    @Test func `a route with an invalid host is not treated as one without a host`() {
        let file = SampleFile().adding(
            "  - { name: b, match: { path: /acme/, host: 'a:1' }, upstream: http://127.0.0.1/, account: alice }"
        )
        #expect(
            faults(of: file.text) == [
                "12:45: routes[1].match.host: must be a host without a port, an IPv6 address in brackets"
            ]
        )
    }

    @Test(arguments: [("strip: true", ExpectationMode.auto), ("expect: auto", .auto), ("expect: never", .never)])
    func `a route may turn the Expect before large bodies off`(
        line: String,
        expect: ExpectationMode
    ) throws {
        let settings = try settings(of: SampleFile().route(line).text)
        #expect(settings.routes.first?.expect == expect)
        let summary = SettingsSummary(settings).description
        #expect(summary.contains("no Expect of the gateway's own") == (expect == .never))
    }
}
