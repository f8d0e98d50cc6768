import HTTPWire
import NIOCore
import Testing

/// A request head, and the head that a route makes of it.
struct RewriteCase: Sendable, CustomTestStringConvertible {
    let name: String
    let lines: [String]
    let expected: [String]
    var prefix = 6
    var path = "/v2/"
    var via = false
    var injected = "Authorization"
    var framing = BodyFraming.none
    var passesCookies = false
    var hop: ForwardingHop?

    var testDescription: String { self.name }

    init(
        _ name: String,
        _ lines: [String],
        becomes expected: [String],
        with change: (inout RewriteCase) -> Void = { _ in }
    ) {
        self.name = name
        self.lines = lines
        self.expected = expected
        change(&self)
    }

    /// A GET for `target`, and the target that the upstream gets.
    static func target(_ target: String, _ expected: String, with change: (inout RewriteCase) -> Void = { _ in })
        -> RewriteCase
    {
        RewriteCase(
            "\(target) becomes \(expected)",
            ["GET \(target) HTTP/1.1", "Host: a"],
            becomes: ["GET \(expected) HTTP/1.1", "Host: api.example"],
            with: change
        )
    }

    static func method(_ method: String, framing: BodyFraming, _ line: String?) -> RewriteCase {
        let expected = ["\(method) /v2/x HTTP/1.1", "Host: api.example"] + (line.map { [$0] } ?? [])
        return RewriteCase("\(method) with \(framing)", ["\(method) /acme/x HTTP/1.1", "Host: a"], becomes: expected) {
            $0.framing = framing
        }
    }
}

@Suite struct UpstreamRequestTests {
    private static let targets: [RewriteCase] = [
        .target("/acme/", "/v2/"),
        .target("/acme/users?page=2", "/v2/users?page=2"),
        .target("/acme/a%2Fb/%E0%20;x=1//c/", "/v2/a%2Fb/%E0%20;x=1//c/"),
        .target("/acme/?%zz&a=/../b?c#".replacing("#", with: ""), "/v2/?%zz&a=/../b?c"),
        .target("/acme/users", "/users") { $0.path = "/" },
        .target("/%61cme/users", "/v2/users") { $0.prefix = 8 },
        .target("http://a/acme/users?x", "/v2/users?x"),
        .target("HTTPS://a/acme/users?x", "/v2/users?x"),
        // strip: false
        .target("/acme/users?page=2", "/v2/acme/users?page=2") { $0.prefix = 0 },
        .target("/acme/users", "/acme/users") {
            $0.prefix = 0
            $0.path = "/"
        },
        .target("/", "/v2/") { $0.prefix = 0 },
        .target("/?x", "/v2/?x") { $0.prefix = 0 },
        .target("http://a/b?c", "/v2/b?c") { $0.prefix = 0 },
        // The empty path of an absolute target is `/` (RFC 9110 §4.2.3).
        .target("http://a", "/v2/") { $0.prefix = 0 },
        .target("http://a?x", "/v2/?x") { $0.prefix = 0 },
        .target("http://a", "/") {
            $0.prefix = 0
            $0.path = "/"
        },
        .target("http://a?x", "/?x") {
            $0.prefix = 1
            $0.path = "/"
        },
        .target("http://a?x", "/v2/?x") { $0.prefix = 1 },
        RewriteCase(
            "OPTIONS *",
            ["OPTIONS * HTTP/1.1", "Host: a"],
            becomes: ["OPTIONS * HTTP/1.1", "Host: api.example"]
        ),
        RewriteCase(
            "OPTIONS *, strip: false",
            ["OPTIONS * HTTP/1.1", "Host: a"],
            becomes: ["OPTIONS * HTTP/1.1", "Host: api.example"]
        ) {
            $0.prefix = 0
        },
    ]

    private static let methods: [RewriteCase] = [
        .method("GET", framing: .none, nil),
        .method("GET", framing: .length(0), "Content-Length: 0"),
        .method("GET", framing: .length(12), "Content-Length: 12"),
        .method("GET", framing: .chunked, "Transfer-Encoding: chunked"),
        .method("HEAD", framing: .none, nil),
        .method("DELETE", framing: .none, nil),
        .method("DELETE", framing: .chunked, "Transfer-Encoding: chunked"),
        .method("OPTIONS", framing: .none, nil),
        .method("POST", framing: .none, nil),
        .method("PUT", framing: .none, nil),
        .method("PATCH", framing: .length(0), "Content-Length: 0"),
        .method("POST", framing: .length(.max), "Content-Length: 9223372036854775807"),
        .method("POST", framing: .chunked, "Transfer-Encoding: chunked"),
        .method("PROPFIND", framing: .none, nil),
        .method("!#$%&'*+-.^_`|~09azAZ", framing: .length(10), "Content-Length: 10"),
    ]

    private static let fields: [RewriteCase] = [
        RewriteCase(
            "fields pass byte for byte, in order",
            [
                "GET /acme/ HTTP/1.1", "accept:  a ;q=1\t", "X-A: 1", "Host: a", "Accept: b", "X-Empty:",
                "X: \u{80}\u{FF}caf\u{E9}\t\"", "X-A: 1",
                "api_key: k", "Content-Type: x/y", "X-HTTP-Method-Override: PUT", "X-Forwarded: no",
                "!#$%&'*+-.^`|~09azAZ: b",
            ],
            becomes: [
                "GET /v2/ HTTP/1.1", "Host: api.example", "accept:  a ;q=1\t", "X-A: 1", "Accept: b", "X-Empty:",
                "X: \u{80}\u{FF}caf\u{E9}\t\"",
                "X-A: 1", "api_key: k", "Content-Type: x/y", "X-HTTP-Method-Override: PUT", "X-Forwarded: no",
                "!#$%&'*+-.^`|~09azAZ: b",
            ]
        ),
        RewriteCase(
            "fields of the connection stay",
            [
                "POST /acme/ HTTP/1.1", "Host: a", "Connection: keep-alive, x-one", "X-One: 1", "A: b",
                "Keep-Alive: timeout=5", "Trailer: X",
                "Proxy-Connection: keep-alive", "connection: X-Two", "x-two: 2", "x-TWO: 3", "TE: trailers",
                "Upgrade: h2c",
                "HTTP2-Settings: x", "Proxy-Authorization: Basic x", "Proxy-Authenticate: Basic", "X-Three: 3",
                "Transfer-Encoding: chunked",
                "Expect: 100-continue",
            ],
            becomes: [
                "POST /v2/ HTTP/1.1", "Host: api.example", "A: b", "Trailer: X", "X-Three: 3",
                "Transfer-Encoding: chunked",
            ]
        ) { $0.framing = .chunked },
        RewriteCase(
            "credentials and the caller's address stay",
            [
                "GET /acme/ HTTP/1.1", "aUTHORIZATION: Bearer stolen", "Host: a", "Martlet-Key: k",
                "MARTLET-ACCOUNT: b", "martlet-x: c", "Martlet-: d",
                "Forwarded: for=1.2.3.4", "X-Forwarded-For: 1.2.3.4", "x-forwarded-HOST: h", "X-Forwarded-Anything: z",
                "X-Real-IP: 1.2.3.4", "X-Original-URL: /admin", "x-rewrite-url: /admin", "A: b",
            ],
            becomes: ["GET /v2/ HTTP/1.1", "Host: api.example", "A: b"]
        ),
        RewriteCase(
            "cookies stay",
            ["GET /acme/ HTTP/1.1", "Cookie: c=d", "Host: a", "A: b", "COOKIE: e=f"],
            becomes: ["GET /v2/ HTTP/1.1", "Host: api.example", "A: b"]
        ),
        RewriteCase(
            "cookies pass where the route says so",
            ["GET /acme/ HTTP/1.1", "Cookie: c=d", "Host: a", "A: b", "COOKIE: e=f"],
            becomes: ["GET /v2/ HTTP/1.1", "Host: api.example", "Cookie: c=d", "A: b", "COOKIE: e=f"]
        ) { $0.passesCookies = true },
        RewriteCase(
            "a cookie that is the injected field stays where cookies pass",
            ["GET /acme/ HTTP/1.1", "Cookie: c=d", "Host: a", "A: b"],
            becomes: ["GET /v2/ HTTP/1.1", "Host: api.example", "A: b"]
        ) {
            $0.passesCookies = true
            $0.injected = "cookie"
        },
        RewriteCase(
            "another injected field",
            [
                "GET /acme/ HTTP/1.1", "Host: a", "x-API-key: mine", "Authorization: Basic x", "X-Api-Key2: a",
                "X-API-KEY: two",
            ],
            becomes: ["GET /v2/ HTTP/1.1", "Host: api.example", "X-Api-Key2: a"]
        ) { $0.injected = "X-Api-Key" },
        RewriteCase(
            "an injected field with underscores, which an upstream may take for the caller's",
            [
                "GET /acme/ HTTP/1.1", "Host: a", "x-API-key: mine", "X-ApiKey: a", "X-Api-Key: two",
            ],
            becomes: ["GET /v2/ HTTP/1.1", "Host: api.example", "X-ApiKey: a"]
        ) { $0.injected = "X_Api_Key" },
        RewriteCase(
            "an injected field that is known",
            ["GET /acme/ HTTP/1.1", "Host: a", "cookie: mine", "A: b"],
            becomes: ["GET /v2/ HTTP/1.1", "Host: api.example", "A: b"]
        ) {
            $0.injected = "Cookie"
        },
        RewriteCase(
            "AUTHORIZATION as the injected field",
            ["GET /acme/ HTTP/1.1", "Host: a", "Authorization: mine", "A: b"],
            becomes: ["GET /v2/ HTTP/1.1", "Host: api.example", "A: b"]
        ) {
            $0.injected = "AUTHORIZATION"
        },
        RewriteCase(
            "Via behind the caller's own",
            ["GET /acme/ HTTP/1.1", "Host: a", "Via: 1.0 fred", "A: b"],
            becomes: [
                "GET /v2/ HTTP/1.1", "Host: api.example", "Via: 1.0 fred", "A: b", "Via: 1.1 martlet (w)",
                "Content-Length: 1",
            ]
        ) {
            $0.via = true
            $0.framing = .length(1)
        },
        RewriteCase(
            "HTTP/1.0 becomes HTTP/1.1",
            ["GET /acme/ HTTP/1.0", "A: b"],
            becomes: ["GET /v2/ HTTP/1.1", "Host: api.example", "A: b"]
        ),
        RewriteCase(
            "the length is canonical",
            ["PUT /acme/ HTTP/1.1", "Content-Length: 0007", "Host: a"],
            becomes: ["PUT /v2/ HTTP/1.1", "Host: api.example", "Content-Length: 7"]
        ) {
            $0.framing = .length(7)
        },
        RewriteCase(
            "a coding becomes a length",
            ["PUT /acme/ HTTP/1.1", "Transfer-Encoding: CHUNKED", "Host: a"],
            becomes: ["PUT /v2/ HTTP/1.1", "Host: api.example", "Content-Length: 7"]
        ) {
            $0.framing = .length(7)
        },
        RewriteCase(
            "a length becomes a coding",
            ["PUT /acme/ HTTP/1.1", "Host: a", "Content-Length: 7"],
            becomes: ["PUT /v2/ HTTP/1.1", "Host: api.example", "Transfer-Encoding: chunked"]
        ) {
            $0.framing = .chunked
        },
    ]

    private static let forwarding: [RewriteCase] = [
        RewriteCase(
            "a caller's address is added",
            ["GET /acme/ HTTP/1.1", "Host: api.local:8080", "A: b"],
            becomes: [
                "GET /v2/ HTTP/1.1", "Host: api.example", "A: b", "X-Forwarded-For: 192.0.2.7",
                "X-Forwarded-Proto: http", "X-Forwarded-Host: api.local:8080",
                "Forwarded: for=192.0.2.7;host=\"api.local:8080\";proto=http",
            ]
        ) { $0.hop = ForwardingHop(address: "192.0.2.7", isEncrypted: false) },
        RewriteCase(
            "what the caller says stands before it, on one line, and nothing else of the kind passes",
            [
                "GET /acme/ HTTP/1.1", "Host: a", "x-forwarded-for: 10.0.0.1", "X-Forwarded-Port: 81",
                "X-Forwarded-For: 10.0.0.2, 10.0.0.3", "X-Forwarded-Proto: https", "X-Forwarded-Host: b", "A: b",
                "Forwarded: for=10.0.0.1;by=\"x,\\\"y\"", "X-Real-IP: 10.0.0.1", "Forwarded:", "X-Original-URL: /x",
            ],
            becomes: [
                "GET /v2/ HTTP/1.1", "Host: api.example", "A: b",
                "X-Forwarded-For: 10.0.0.1, 10.0.0.2, 10.0.0.3, 2001:db8::1", "X-Forwarded-Proto: https, https",
                "X-Forwarded-Host: b, a",
                "Forwarded: for=10.0.0.1;by=\"x,\\\"y\", for=\"[2001:db8::1]\";host=\"a\";proto=https",
            ]
        ) { $0.hop = ForwardingHop(address: "2001:db8::1", isEncrypted: true) },
        RewriteCase(
            "nothing swallows what is added, and Connection takes nothing away",
            [
                "GET /acme/ HTTP/1.1", "Host: a", "Forwarded: for=\"10.0.0.1", "Connection: X-Forwarded-For",
                "Forwarded: for=\"\\\"", "X-Forwarded-For: 10.0.0.1", "X-Forwarded-Proto: \"",
            ],
            becomes: [
                "GET /v2/ HTTP/1.1", "Host: api.example", "X-Forwarded-For: 10.0.0.1, 192.0.2.7",
                "X-Forwarded-Proto: http", "X-Forwarded-Host: a", "Forwarded: for=192.0.2.7;host=\"a\";proto=http",
            ]
        ) { $0.hop = ForwardingHop(address: "::ffff:192.0.2.7", isEncrypted: false) },
        RewriteCase(
            "OPTIONS that may be forwarded three times",
            ["OPTIONS /acme/ HTTP/1.1", "Host: a", "max-forwards: 3", "A: b"],
            becomes: ["OPTIONS /v2/ HTTP/1.1", "Host: api.example", "A: b", "Max-Forwards: 2"]
        ),
        RewriteCase(
            "Max-Forwards of another method",
            ["GET /acme/ HTTP/1.1", "Host: a", "Max-Forwards: 3"],
            becomes: ["GET /v2/ HTTP/1.1", "Host: api.example", "Max-Forwards: 3"]
        ),
        RewriteCase(
            "Max-Forwards that is no number",
            ["OPTIONS /acme/ HTTP/1.1", "Host: a", "Max-Forwards: +3", "A: b"],
            becomes: ["OPTIONS /v2/ HTTP/1.1", "Host: api.example", "Max-Forwards: +3", "A: b"]
        ),
        RewriteCase(
            "a caller without an address, or a host",
            ["GET /acme/ HTTP/1.0", "A: b"],
            becomes: [
                "GET /v2/ HTTP/1.1", "Host: api.example", "A: b", "X-Forwarded-For: unknown",
                "X-Forwarded-Proto: http", "Forwarded: for=unknown;proto=http",
            ]
        ) { $0.hop = ForwardingHop(address: nil, isEncrypted: false) },
    ]

    @Test(arguments: targets + methods + fields + forwarding)
    func `the upstream gets the caller's head, except for what must change`(_ row: RewriteCase) throws {
        let parsed = try parseRequest([head(row.lines)[...]])
        let request = try #require(parsed).0
        let upstream = UpstreamRequest(
            path: row.path,
            host: "api.example",
            via: row.via ? Via(word: "w") : nil,
            injectedName: row.injected,
            passesCookies: row.passesCookies,
            appendsForwarded: row.hop != nil
        )
        let written = upstream.head(
            for: request,
            replacing: row.prefix,
            framing: row.framing,
            hop: row.hop,
            spare: 0
        )
        #expect(text(written) == row.expected.map { $0 + "\r\n" }.joined())
    }

    @Test func `the head has spare capacity for the injected line, so nothing is copied`() throws {
        let parsed = try parseRequest([head(["GET / HTTP/1.1", "Host: a"])[...]])
        let upstream = UpstreamRequest(path: "/", host: "a", via: nil, injectedName: "Authorization")
        let written = try upstream.head(
            for: #require(parsed).0,
            replacing: 1,
            framing: .length(.max),
            spare: 5000
        )
        #expect(written.writableBytes >= 5000)
    }

    @Test(arguments: [
        ("Authorization", "api_key", false), ("X-Api-Key", "X_Api_Key", true), ("X-Api-Key", "x-api_KEY", true),
        ("X-Api-Key", "X_Api_Keys", false), ("X-Api-Key", "X-Api-Key", false), ("api_key", "api_key", false),
        ("api_key", "API_KEY", false), ("private_api_key", "private-api_key", true),
        ("private_api_key", "Private-Api-Key", false), ("Cookie", "Coo_kie", false),
    ])
    func `a name that an upstream may mistake for the injected field is recognized`(
        injected: String,
        name: String,
        isMistakable: Bool
    ) throws {
        let parsed = try parseRequest([head(["GET / HTTP/1.1", "Host: a", "\(name): mine"])[...]])
        let upstream = UpstreamRequest(path: "/", host: "a", via: nil, injectedName: injected)
        #expect(try upstream.isMistakable(#require(parsed).0) == isMistakable)
    }

    @Test func `no lookalike of Accept-Encoding passes on a route that inspects responses`() throws {
        let parsed = try parseRequest([head(["GET / HTTP/1.1", "Host: a", "accept_Encoding: gzip"])[...]])
        let request = try #require(parsed).0
        for asks in [true, false] {
            let upstream = UpstreamRequest(
                path: "/",
                host: "a",
                via: Via(word: "w"),
                injectedName: "Authorization",
                asksForIdentity: asks
            )
            #expect(upstream.isMistakable(request) == asks)
        }
    }

    @Test func `only harmless trailers go upstream`() throws {
        let lines = [
            "X-Checksum: 1", "Content-Length: 3", "Transfer-Encoding: chunked", "Host: b", "Authorization: Bearer x",
            "martlet-key: k", "x-api-KEY: mine",
            "X_Api_Key: mine", "X-Forwarded-For: 1.2.3.4", "Forwarded: x", "X-Real-IP: y", "Cookie: a", "TE: x",
            "Connection: close", "Trailer: x",
            "Content-Type: x/y", "Expect: 100-continue", "client_id: 7", "X_Real_IP: y", "Co_okie: a",
            "X-Original-URL: /x",
            "X-HTTP-Method-Override: PUT", "X_Method_Override: PUT", "Origin: x", "Alt-Svc: x", "Set-Cookie: a",
            "grpc-status: 0",
        ]
        var decoder = BodyDecoder(.chunked)
        var buffer = ByteBuffer(string: "0\r\n")
        buffer.writeBytes(head(lines))
        guard case .end(let trailers) = try decoder.next(&buffer) else {
            Issue.record("no end")
            return
        }
        let upstream = UpstreamRequest(path: "/", host: "a", via: nil, injectedName: "X-Api-Key")
        let end = upstream.lastChunk(trailers)
        #expect(text(end) == "0\r\nX-Checksum: 1\r\nclient_id: 7\r\nCo_okie: a\r\ngrpc-status: 0\r\n\r\n")
        #expect(text(upstream.lastChunk(nil)) == "0\r\n\r\n")
    }
}
